package plan

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// standDown takes back evictions of region leaders while the component cannot go on
// before a person does something: a store that waits for its turn would stand without
// leaders for days. When its turn comes, they are evicted again.
func (sc Scope) standDown(v verdict, earlier []Gate) verdict {
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
	return v.and(ending(*sc.Cluster, *sc.All, idle))
}

// evicted reports whether a gate is about what comes with or after an eviction of its
// member, which then stays: its leaders do not leave, Kubernetes may still take its pod,
// or it is on its way out. Were it taken back, it would be begun again in the next turn,
// for ever. What has to hold before an eviction is no reason to keep one.
func (g Gate) evicted() bool {
	return slices.Contains([]Reason{LeadersEvicted, PodReplaced, MemberServing, RegionsMoved}, g.Reason)
}
