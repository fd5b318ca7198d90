package state

// Config says whether the process of a pod runs with the configuration that its ConfigMap has now.
// A process reads its configuration when it starts, and a ConfigMap may be written meanwhile
// (configUpdateStrategy InPlace).
type Config int

// ConfigUnknown is the zero value. It is unknown when the ConfigMap was written, or the pod started
// at about that time.
const (
	ConfigUnknown Config = iota
	ConfigCurrent
	ConfigOlder
)
