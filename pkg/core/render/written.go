package render

import (
	"bytes"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// annWritten on a ConfigMap has the time of the last change of its data, and a digest of the data.
// Data that others have changed since then has another digest.
const annWritten = "kubectl-tidb/data-changed"

// SetWritten records on a ConfigMap that its data changes at this time.
func SetWritten(m *corev1.ConfigMap, at time.Time) {
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[annWritten] = at.UTC().Format(time.RFC3339) + " " + digest(m.Data)
}

// Written is when a ConfigMap got the data that it has.
type Written struct {
	// At is zero when it is not known.
	At time.Time
	// Exact is true if it was at that time, false if it was then or before.
	Exact bool
}

// WrittenConfig returns when the configuration of a component was written that its pods read when
// they start. Our own record is exact. There is no record if an operator or a person wrote the
// configuration. Then the API server's record of the last write is used, which may have changed
// other fields too.
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
	// aside is how far our clock may be from the API server's, which sets the times of pods.
	aside = 2 * time.Second
	// mounting bounds how long a node takes to update a changed ConfigMap in running pods. It also
	// bounds how far the node's clock is from the API server's.
	mounting = 5 * time.Minute
)

// In reports whether a pod runs with the configuration. It uses the time at which the API server
// created the pod. The node's clock, which sets the start of containers, only counts if the
// difference is large.
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
