package state

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Pump is what PD's etcd has about a Pump, which registers there.
type Pump struct {
	Node string // its id, e.g. "basic-pump-0:8250"
	// Host is the address under which it registered.
	Host  string
	State PumpState
	// Reader is the drainer that has read least of the Pump's binlog, "" where there is none. Behind
	// is how much the drainer has yet to read.
	Reader string
	Behind time.Duration
}

// PumpState is the state of a Pump, as it writes it.
type PumpState string

// The states of a Pump. One that is killed stays online in PD's etcd for ever.
const (
	PumpOnline  PumpState = "online"
	PumpPausing PumpState = "pausing"
	PumpPaused  PumpState = "paused" // it ended, and has what drainers have not read
	PumpClosing PumpState = "closing"
	PumpOffline PumpState = "offline" // drainers have read all that it had
)

// Removed reports whether the database counts on nothing of the member any more. Its store is a
// tombstone, or its Pump is offline.
func (d Database) Removed() bool {
	return d.State == StoreTombstone || d.Pump.State == PumpOffline
}

// WritesBinlog reports whether a container runs a TiDB server that writes its binlog to Pump.
func WritesBinlog(c corev1.Container) bool {
	return slices.Contains(c.Env, corev1.EnvVar{Name: topology.EnvBinlog, Value: "true"})
}
