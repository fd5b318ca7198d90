package render

import (
	"bytes"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// annWritten on a ConfigMap says when its data was changed last, and by a digest
// which data that is: one that somebody else has changed since has another digest.
const annWritten = "kubectl-tidb/data-changed"

// SetWritten records on a ConfigMap that its data changes at a moment.
func SetWritten(m *corev1.ConfigMap, at time.Time) {
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[annWritten] = at.UTC().Format(time.RFC3339) + " " + digest(m.Data)
}

// Written is when a ConfigMap got the data that it has.
type Written struct {
	// At is zero when nothing tells.
	At time.Time
	// Exact: it was then. Else it was then or before.
	Exact bool
}

// WrittenConfig is when the configuration of a component was written that its pods
// read when they start. Our own record is exact. Without one, since an operator or a
// person wrote it, there is what the API server remembers of the last write of the
// data and whatever was written with it.
func WrittenConfig(c topology.Cluster, k topology.Kind, have state.Existing) Written {
	m := inUse(c, k, have).found
	if m == nil {
		return Written{}
	}
	when, sum, ok := strings.Cut(m.Annotations[annWritten], " ")
	if at, err := time.Parse(time.RFC3339, when); ok && err == nil && sum == digest(m.Data) {
		return Written{At: at, Exact: true}
	}
	var w Written
	for _, f := range m.ManagedFields {
		if f.Time != nil && f.FieldsV1 != nil && bytes.Contains(f.FieldsV1.GetRawBytes(), []byte(`"f:data"`)) && f.Time.After(w.At) {
			w.At = f.Time.Time
		}
	}
	return w
}

const (
	// aside is how far our clock may be from the API server's, which dates pods.
	aside = 2 * time.Second
	// mounting bounds how long a node takes to bring a ConfigMap that has changed
	// into pods that run, and how far its clock is from the API server's.
	mounting = 5 * time.Minute
)

// In reports whether a pod runs with the configuration. It goes by when the API server
// made the pod; the node's clock, by which containers start, only counts where it is
// far past.
func (w Written) In(p state.Pod) state.Config {
	switch {
	case w.At.IsZero() || p.Made.IsZero():
		return state.ConfigUnknown
	case !w.Exact && !p.Made.Before(w.At), w.Exact && p.Made.After(w.At.Add(aside)), p.Started.After(w.At.Add(mounting)):
		return state.ConfigCurrent
	case w.Exact && p.Made.Before(w.At.Add(-aside)) && p.Started.Before(w.At):
		return state.ConfigOlder
	}
	return state.ConfigUnknown
}
