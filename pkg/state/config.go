package state

// Config tells whether the process of a pod runs with the configuration that its
// ConfigMap has now. A process reads it when it starts, and a ConfigMap may be
// written while it runs (configUpdateStrategy InPlace).
type Config int

// ConfigUnknown is the zero value: nothing tells when the ConfigMap was written, or
// the pod is about as old as that.
const (
	ConfigUnknown Config = iota
	ConfigCurrent
	ConfigOlder
)
