package plan

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// cancelWhileBlocked ends evictions of region leaders while the component needs manual action.
// Otherwise a store that waits for its restart would have no leaders for days. Leaders are evicted
// again when the store is restarted.
func (sc Scope) cancelWhileBlocked(v verdict, earlier []Gate) verdict {
	if len(v.steps) > 0 || len(v.gates) == 0 || !sc.All.PD.Serving() ||
		!allBlocked(v.gates) && !allBlocked(slices.Concat(earlier, v.gates)) {
		return v
	}
	var idle []state.Eviction
	for _, m := range sc.Got.Members {
		e, recorded := sc.All.Eviction(m.Database.ID)
		if recorded && e.Ended.IsZero() && !slices.ContainsFunc(v.gates, func(g Gate) bool { return g.Member == m.Name && g.evicted() }) {
			idle = append(idle, e)
		}
	}
	return v.plus(endEvictions(*sc.Cluster, *sc.All, idle))
}

// evicted reports whether the eviction of a gate's member must continue. The leaders do not leave,
// Kubernetes may still delete the pod, or the member is being removed. Otherwise the eviction would
// be ended and begun again in each turn. For a gate before an eviction it returns false.
func (g Gate) evicted() bool {
	return slices.Contains([]Reason{LeadersEvicted, PodReplaced, MemberServing, RegionsMoved}, g.Reason)
}
