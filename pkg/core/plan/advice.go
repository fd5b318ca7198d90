package plan

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// advise adds what a person can do to gates that wait for a lost member, or for its replacement.
func (d *decision) advise(gates []Gate) {
	for i := range gates {
		if gates[i].Reason != MemberServing {
			continue
		}
		m, _ := d.Got.Member(gates[i].Member)
		c, ok := d.lostMember(m)
		switch look := gates[i].Remedy; {
		case d.AddedInVain(m) && d.profile.Failover.Keeps:
			gates[i].Remedy = append(remedy.Remedy{remedy.Run("take it away, since a member that was given up serves again",
				d.Cluster.Plugin("failover", "recover"))}, look...)
		case d.Want.Spare > 0 && !d.Want.InSpec(m.Ordinal):
			gates[i].Remedy = append(slices.Clone(look), remedy.Run("do without it, and call the replacements off that wait for it",
				d.Cluster.Plugin("replace", "--cancel")))
		case !ok:
		case c.Record == nil && c.Spared == "" && !d.All.At.Before(c.Due) && !d.Policy.Failover.covers(d.Want.Kind):
			gates[i].Remedy = append(remedy.Remedy{remedy.Run("replace it", d.Cluster.Plugin("failover", "run"))}, look...)
		case c.Record != nil && d.profile.Failover.Keeps && !c.Record.Discarded && !m.Up():
			// The member has its replacement, and is waited for only because PD still counts on its
			// data.
			gates[i].Remedy = append(remedy.Remedy{Discard(*d.Cluster, m)}, look...)
		}
	}
}

// Discard returns the command that gives up the data of a member that was given up.
func Discard(c topology.Cluster, m state.Member) remedy.Action {
	return remedy.Run("if it never comes back", c.Plugin("failover", "run", "--component", string(m.Kind), "--discard", m.Name))
}
