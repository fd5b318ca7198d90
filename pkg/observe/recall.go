package observe

import (
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// recall fills in since when members of PD and TiDB are unhealthy that nobody
// else can tell of: a process that runs and does not serve leaves no trace but
// what was written into the status when that was first seen.
func recall(status v1alpha1.TidbClusterStatus, members []state.Member) {
	for i := range members {
		m := &members[i]
		if m.Database.Presence != state.Present || m.Database.Healthy || !m.Database.Since.IsZero() {
			continue
		}
		m.Database.Since = unhealthySince(status, m)
	}
}

func unhealthySince(status v1alpha1.TidbClusterStatus, m *state.Member) time.Time {
	switch m.Kind {
	case topology.PD:
		if was, ok := status.PD.Members[m.Database.Name]; ok && !was.Health {
			return was.LastTransitionTime.Time
		}
	case topology.TiDB:
		if was, ok := status.TiDB.Members[m.Name]; ok && !was.Health {
			return was.LastTransitionTime.Time
		}
	}
	return time.Time{}
}
