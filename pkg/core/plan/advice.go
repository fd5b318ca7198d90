package plan

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// advise adds what a person can do to gates that wait for a lost member, or for its replacement.
func (sc Scope) advise(p Profile, gates []Gate) {
	for i := range gates {
		if gates[i].Reason != MemberServing {
			continue
		}
		m, _ := sc.Got.Member(gates[i].Member)
		c, ok := sc.lostMember(p, m)
		switch look := gates[i].Remedy; {
		case sc.needless(p, m):
			gates[i].Remedy = append(remedy.Remedy{remedy.Run("take it away, since a member that was given up serves again",
				sc.Cluster.Plugin("failover", "recover"))}, look...)
		case !ok:
		case c.Record == nil && c.Spared == "" && !sc.All.At.Before(c.Due) && !sc.Policy.Failover.covers(p.Kind):
			gates[i].Remedy = append(remedy.Remedy{remedy.Run("replace it", sc.Cluster.Plugin("failover", "run"))}, look...)
		case c.Record != nil && p.Failover.Keeps && !c.Record.Discarded && !m.Up():
			// The member has its replacement, and is waited for only because PD still counts on its
			// data.
			gates[i].Remedy = append(remedy.Remedy{remedy.Run("if it never comes back", sc.Cluster.Plugin("failover", "run",
				"--component", string(p.Kind), "--discard", m.Name))}, look...)
		}
	}
}

// needless reports whether a member was added by a failover, and the member that was given up serves again. A rollout
// waits for the added member without a need. Where recovery is asked for, the record of the failover is gone by then.
func (sc Scope) needless(p Profile, m state.Member) bool {
	if m.Ordinal < sc.Want.Replicas || !p.Failover.Keeps {
		return false
	}
	return slices.ContainsFunc(sc.Want.Failures, func(f topology.Failure) bool {
		back, there := sc.Got.Member(f.Member)
		return there && back.Up() && !sc.loops(back)
	})
}
