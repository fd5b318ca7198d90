package finding

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Members that a failover has given up. A plan waits for none of them, so that the cluster has converged although they
// are down.

// replaced reports whether a member does not serve, was given up, and is missed by nobody. PD counts on no vote of such
// a voter, and no region has a copy on such a store.
func (l Look) replaced(g desired.Group, m state.Member) bool {
	_, given := g.Failure(m.Name)
	switch data := g.Kind.Data(); {
	case !given || m.Up():
		return false
	case data == topology.Raft:
		return l.voteless(g, m)
	case data == topology.Store:
		return m.Database.Presence != state.Unknown && m.Database.Regions == 0
	}
	return true
}

// voteless reports whether a voter was given up and PD has removed the voter.
func (l Look) voteless(g desired.Group, m state.Member) bool {
	if g.Kind.Data() != topology.Raft {
		return false
	}
	return slices.ContainsFunc(facts.Of(&l.Wanted, &l.Snapshot), func(c facts.Component) bool {
		return c.Want.Kind == g.Kind && len(c.VotingMembers([]state.Member{m})) == 0
	})
}

// membersReplaced are the members that were given up, do not serve, and are missed by nobody.
func membersReplaced(l Look) []Finding {
	var all []Finding
	l.members(func(g desired.Group, got state.Group, m state.Member) {
		if !l.replaced(g, m) {
			return
		}
		f, _ := g.Failure(m.Name)
		back := remedy.Say("when it serves again, the next run takes the further member away")
		if isStore(m) {
			back = remedy.Run("when it serves again, take the further member away", l.Wanted.Cluster.Plugin("failover", "recover"))
		}
		all = append(all, Finding{
			Component: g.Kind, Member: m.Name, Seen: "it was given up " + l.ago(f.Created) + ": " + m.Trouble(),
			Remedy: append(append(l.giveUpData(m), l.describe(m)), back),
		})
	})
	return all
}

// giveUpData returns the command that gives up the data of a store whose host never comes back. Nothing is returned for
// a store that was not given up, or whose data was given up already.
func (l Look) giveUpData(m state.Member) remedy.Remedy {
	g, _ := l.Wanted.Group(m.Kind)
	if f, given := g.Failure(m.Name); !given || f.Discarded || !isStore(m) {
		return nil
	}
	return remedy.Remedy{plan.Discard(l.Wanted.Cluster, m)}
}
