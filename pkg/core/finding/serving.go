package finding

import (
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// downLong is how long a store or a member may not serve before it is reported: a restart takes less.
const downLong = 2 * time.Minute

// leavesLong is how long the removal of a store takes at most, mostly.
const leavesLong = time.Hour

// blocked returns the gates that only a person opens.
func blocked(l Look) []Finding {
	var all []Finding
	for _, g := range l.Plan.Gates {
		if g.Blocked {
			all = append(all, Finding{Component: g.Component, Member: g.Member, Object: g.Object, Seen: g.String(), Remedy: orElse(g.Remedy, l.see())})
		}
	}
	return all
}

func orElse(r remedy.Remedy, otherwise remedy.Action) remedy.Remedy {
	if len(r) > 0 {
		return r
	}
	return remedy.Remedy{otherwise}
}

// whyDown returns why a wanted member does not serve. It returns "" for a member that serves, that has just begun not
// to, or of which nothing is known.
func (l Look) whyDown(g desired.Group, got state.Group, m state.Member) string {
	running := g.Has(m.Ordinal) || got.Set.Has(m.Ordinal)
	unread := m.Database.Presence == state.Unknown && m.Pod != nil && m.Pod.Ready && !m.Pod.Terminating
	if g.Suspend || !running || m.Up() || unread {
		return ""
	}
	since := m.DownSince()
	switch {
	case since.IsZero():
		return m.Trouble()
	case l.Snapshot.At.Sub(since) < downLong:
		return ""
	case isStore(m):
		return m.Trouble() + l.silent(m)
	}
	return m.Trouble() + ", for " + state.Age(l.Snapshot.At.Sub(since))
}

// silent says since when Kubernetes and PD report that a store does not serve. The two times stay apart, because PD
// saves the heartbeats of a store rarely. A new leader of PD knows saved heartbeats only.
func (l Look) silent(m state.Member) string {
	text := ""
	if m.Pod != nil && !m.Pod.Ready {
		text = ", for " + state.Age(l.Snapshot.At.Sub(facts.Later(m.Pod.Since, m.Pod.Made)))
	}
	switch last := m.Database.Since; {
	case last.IsZero():
		return text
	case last.Before(l.Snapshot.PD.LeaderSince):
		return text + "; the last heartbeat that PD has saved was " + l.ago(last) + ", and later ones may not be saved"
	default:
		return text + "; its last heartbeat was " + l.ago(last)
	}
}

// lookAt returns how to find out why a member does not serve.
func (l Look) lookAt(m state.Member) remedy.Remedy {
	c := l.Wanted.Cluster
	see := remedy.Remedy{l.describe(m)}
	if m.Pod != nil && m.Pod.Ran {
		see = append(see, remedy.Run("see its log", c.Plugin("logs", m.Name)))
	}
	if m.LacksVolume() {
		see = append(see, plan.NewVolume(c, m))
	}
	return append(see, remedy.Run("see when it may be replaced", c.Plugin("failover")))
}

// describe returns the command that shows what Kubernetes reports of a member.
func (l Look) describe(m state.Member) remedy.Action {
	c := l.Wanted.Cluster
	if m.Pod == nil {
		return remedy.Run("see why it has no pod", c.Kubectl("describe", c.SetResource(), c.SetName(m.Kind)))
	}
	return remedy.Run("see why", c.Kubectl("describe", "pod", m.Name))
}

// unserving returns the members that pass a filter and do not serve. Members with a replacement are left out.
func unserving(l Look, filter func(state.Member) bool) []Finding {
	var all []Finding
	l.members(func(g desired.Group, got state.Group, m state.Member) {
		if why := l.whyDown(g, got, m); why != "" && filter(m) && !l.replaced(g, m) {
			all = append(all, Finding{Component: g.Kind, Member: m.Name, Seen: why, Remedy: l.lookAt(m)})
		}
	})
	return all
}

// voters are the voters that do not serve, by the report of PD or of the pod.
func voters(l Look) []Finding {
	all := unserving(l, func(m state.Member) bool { return m.Kind.Data() == topology.Raft })
	for i := range all {
		if pd := l.Snapshot.PD; pd.Known() {
			all[i].Seen += fmt.Sprintf("; %d of %d members are healthy, and %d are needed", pd.Healthy, pd.Members, pd.Quorum())
		}
	}
	return all
}

func isStore(m state.Member) bool {
	return m.Kind.Data() == topology.Store && m.Database.Presence == state.Present
}

// storesDown are stores that send no heartbeats, or whose pods do not serve.
func storesDown(l Look) []Finding {
	all := unserving(l, func(m state.Member) bool { return isStore(m) && m.Database.State != state.StoreOffline })
	for i := range all {
		m, _ := l.Snapshot.Groups[all[i].Component].Member(all[i].Member)
		all[i].Remedy = append(l.giveUpData(m), all[i].Remedy...)
		all[i].Seen = fmt.Sprintf("store %d with %s is %s in PD: %s", m.Database.ID, remedy.Count(m.Database.Regions, "region", "regions"), m.Database.State, all[i].Seen)
	}
	return all
}

// storesOffline are stores that are being removed from PD, by others or for long.
func storesOffline(l Look) []Finding {
	var all []Finding
	l.members(func(g desired.Group, _ state.Group, m state.Member) {
		if !isStore(m) || m.Database.State != state.StoreOffline {
			return
		}
		seen := fmt.Sprintf("store %d is Offline, with %s left", m.Database.ID, remedy.Count(m.Database.Regions, "region", "regions"))
		switch r, ours := l.Snapshot.Removal(m.Database.ID); {
		case !ours:
			seen += "; another user or tool has begun its removal"
		case l.Snapshot.At.Sub(r.Since) < leavesLong:
			return
		default:
			seen += fmt.Sprintf("; its removal began %s ago", state.Age(l.Snapshot.At.Sub(r.Since)))
		}
		all = append(all, Finding{Component: g.Kind, Member: m.Name, Seen: seen, Remedy: remedy.Remedy{l.see()}})
	})
	return all
}

// membersDown are all others.
func membersDown(l Look) []Finding {
	return unserving(l, func(m state.Member) bool { return m.Kind.Data() != topology.Raft && !isStore(m) })
}
