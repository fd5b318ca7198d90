package plan

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// suspend takes all pods of a component away and keeps what they need to come
// back. It may begin at any moment, in the middle of a scale-in or a rollout:
// those go on when the component is resumed. Those that need the component go
// before it, so that none of them fails for want of it.
func (sc Scope) suspend(p Profile, earlier, later []desired.Group) verdict {
	switch set := sc.Got.Set; {
	case set.Terminating:
		return sc.leaving()
	case !set.Exists && !suspended(*sc.Got):
		return sc.adopt(p)
	case !set.Exists && len(earlier) > 0 && !earlier[0].Suspend:
		if v := sc.settle(p); !v.idle() {
			return v // PD, which stays, may not have answered before
		}
		return sc.untold(p)
	case !set.Exists:
		return verdict{}
	}
	for _, g := range later {
		if g.Suspend && !suspended(sc.All.Groups[g.Kind]) {
			return wait(Gate{
				Component: p.Kind, Reason: SuspendQueued, Want: "suspension can begin", held: true,
				Observed: "suspension queued behind " + g.Kind.Title(),
			})
		}
	}
	if v := sc.settle(p); !v.idle() {
		return v
	}
	if v := sc.lasting(p); !v.idle() {
		return v
	}
	return act(DeleteSet{Component: p.Kind, Name: sc.Want.Set.Name, UID: sc.Got.Set.UID})
}

// settle leaves nothing half done behind that would be in the way later.
func (sc Scope) settle(p Profile) verdict {
	for _, m := range sc.Got.Members {
		if v := sc.pursue(p.BeforeSuspend, m); !v.idle() {
			return v
		}
	}
	return verdict{}
}

// untold waits for a PD that does not serve yet to say what has become of members
// that have data: it may have let go of one, which is to be marked.
func (sc Scope) untold(p Profile) verdict {
	if sc.All.PD.Serving() {
		return verdict{}
	}
	for _, m := range sc.Got.Members {
		if p.Kind.Data() != topology.None && len(m.Claims) > 0 && m.Database.Presence == state.Unknown {
			return wait(Gate{
				Component: p.Kind, Member: m.Name, Reason: MembershipKnown, Want: "membership in PD known", Source: FromDatabase, held: true,
			})
		}
	}
	return verdict{}
}

// suspended: nothing of the component runs, or will by itself.
func suspended(got state.Group) bool {
	if got.Set.Exists {
		return false
	}
	for _, m := range got.Members {
		if m.Pod != nil {
			return false
		}
	}
	return true
}

// adopt gives pods that somebody has deleted a StatefulSet around another one,
// to be deleted with them: by themselves they would run for ever.
func (sc Scope) adopt(p Profile) verdict {
	if sc.Got.Extent() == 0 {
		return sc.leaving()
	}
	steps := applies(p.Kind, sc.Want.Config)
	return verdict{steps: append(steps, Apply{Component: p.Kind, Object: sc.Want.Set, Replicas: sc.births(p)})}
}

// leaving waits for a StatefulSet that is on its way out, and for its pods. One
// whose host is lost stays until the host is back or somebody gives it up.
func (sc Scope) leaving() verdict {
	var v verdict
	for _, m := range sc.Got.Members {
		if m.Pod == nil || !m.Pod.Terminating {
			continue // the StatefulSet may be deleted without its pods
		}
		v.gates = append(v.gates, Gate{
			Component: m.Kind, Member: m.Name, Reason: PodDeleted, Want: "pod deleted", Observed: m.Trouble(),
			Since: m.Pod.Since, Deadline: m.Pod.Since.Add(patience), Remedy: sc.describe("pod", m.Name),
			Blocked: !sc.All.At.Before(m.Pod.Since.Add(patience)),
		})
	}
	if len(v.gates) == 0 {
		v.gates = []Gate{{Component: sc.Want.Kind, Reason: StatefulSetDeleted, Want: "StatefulSet deleted"}}
	}
	return v
}

// births is how many replicas a StatefulSet is made with. Pods beyond them that
// are there Kubernetes would delete at once, data or not, and members whose data
// is there may be what a quorum or a region needs: all of them come back, wanted
// or not, and are scaled in as any other. Those that have never been are scaled
// out to, one by one, unless there is no cluster yet for them to join. To found it
// takes those who were told to, wanted or not.
func (sc Scope) births(p Profile) int {
	n := sc.Got.Extent()
	for _, m := range sc.Got.Members {
		if p.Kind.Data() != topology.None && sc.counts(m) {
			n = max(n, m.Ordinal+1)
		}
	}
	if n == 0 || p.Kind.Data() == topology.None || sc.All.PD.ClusterID == 0 {
		n = max(n, sc.Want.Size(), sc.Want.Founders)
	}
	return n
}

// counts: the member has data, and nobody has let go of it.
func (sc Scope) counts(m state.Member) bool {
	if removalIrreversible(m) {
		return false
	}
	return alive(m) || len(m.Claims) > len(markedClaims(m))
}
