package observe

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// atOnce bounds the connections opened at the same time in a big cluster.
const atOnce = 16

// askStores asks stores that are being evicted how many leaders they have. PD's
// number is as old as the last heartbeat, up to ten seconds: with it an eviction
// would take that much longer, or a store be restarted with leaders that it got
// since.
//
// It also asks stores that PD takes for Up on the word of a process that has
// been replaced since. Only a process that has opened its regions counts them,
// so the answer proves that it serves.
func (o *Observer) askStores(ctx context.Context, c topology.Cluster, members []state.Member) {
	each(ctx, members, func(ctx context.Context, m *state.Member) {
		unproven := m.Database.State == state.StoreUp && !m.Database.Healthy
		if !m.Database.Evicting && !unproven || m.Pod == nil || !m.Pod.Ready {
			return
		}
		n, err := o.tikv.Counts(ctx, c.PodHost(m.Kind, m.Ordinal))
		if err != nil {
			m.Database.Leaders = -1
			return
		}
		m.Database.Leaders, m.Database.Regions = n.Leaders, n.Regions
		if unproven && n.Regions > 0 {
			m.Database.Healthy, m.Database.Problem, m.Database.Since = true, "", time.Time{}
		}
	})
}

// askServers asks each TiDB server whether it serves.
func (o *Observer) askServers(ctx context.Context, c topology.Cluster, members []state.Member) {
	each(ctx, members, func(ctx context.Context, m *state.Member) {
		if m.Pod == nil || !m.Pod.Ready {
			return
		}
		healthy, err := o.tidb.Healthy(ctx, c.PodHost(m.Kind, m.Ordinal))
		switch {
		case err != nil:
			m.Database.Problem = "status port does not answer: " + err.Error()
		case !healthy:
			m.Database.Presence, m.Database.Problem = state.Present, "status port reports an error"
		default:
			m.Database.Presence, m.Database.Healthy = state.Present, true
		}
	})
}

// each works on all members at once. What fails is left unknown.
func each(ctx context.Context, members []state.Member, f func(context.Context, *state.Member)) {
	var all errgroup.Group
	all.SetLimit(atOnce)
	for i := range members {
		all.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, readTimeout)
			defer cancel()
			f(ctx, &members[i])
			return nil
		})
	}
	_ = all.Wait()
}
