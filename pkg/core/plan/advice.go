package plan

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
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
		case sc.AddedInVain(m) && p.Failover.Keeps:
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
