package plan

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// adviseBelowRollout adds advice about members that fail with an old revision and that the rollout does not reach. A
// partition reaches a member only after all members with a higher ordinal. If a member with a higher ordinal may
// serve, its restart would take a second member away, so the rollout stops before that restart. The rollout also stops
// if another member fails with the update revision. It also stops if the claim of the next member is being deleted
// while PD cannot be asked. In each case only a person can mend the member below, and without the advice the wait
// would last for ever.
func (d *decision) adviseBelowRollout(v verdict) verdict {
	next, ok := d.Candidate()
	if !ok || d.queue.rolling || d.Got.Set.Manual {
		return v
	}
	for i, g := range v.gates {
		m, ok := d.Got.Member(g.Member)
		_, queued := d.MemberBefore(m)
		switch {
		case !ok || g.Reason != MemberServing || queued || !d.Got.Outdated(m) || m.Pod != nil && m.Pod.Terminating:
		case mayServe(next):
			if m.Name != next.Name && (next.Up() || !mayServe(m)) {
				why := fmt.Sprintf("the new one reaches it only after %s, which is not restarted as long as a peer is down", next.Name)
				v.gates[i].Remedy = append(d.recreateAdvice(m, why), g.Remedy...)
			}
		case m.Name == next.Name && g.Blocked:
			v.gates[i].Remedy = append(g.Remedy, d.nextAdvice(m)...)
		}
	}
	return v
}

// nextAdvice is what a person can do about the next member, where it fails and is not restarted.
func (d *decision) nextAdvice(m state.Member) remedy.Remedy {
	if m.DataBeingDeleted() && m.Database.Presence == state.Unknown {
		return d.removedAdvice(m)
	}
	if failing := d.Failing(m); len(failing) > 0 {
		return d.recreateAdvice(m, "it is not restarted with the new one, with which "+failing[0].Name+" does not serve")
	}
	return nil
}

// removedAdvice is about a member whose claim is being deleted while PD does not say whether it needs the data. It says
// what a person can do. With the pod the data would go: if PD has a vote of that member, its quorum could be lost for
// ever.
func (sc Scope) removedAdvice(m state.Member) remedy.Remedy {
	why := fmt.Sprintf("it is not restarted, since its claim %s is being deleted and goes with its pod; "+
		"if its log says that the member was removed, nobody needs that data: delete the pod", m.ClaimBeingDeleted())
	return remedy.Remedy{remedy.Run(why, sc.Cluster.Delete("pod", m.Name))}
}

// mayServe reports whether a member is not restarted as one that is down: its pod is Ready.
// What the database reports may be wrong.
func mayServe(m state.Member) bool { return m.Pod != nil && m.Pod.Ready && !m.Pod.Terminating }

// recreateAdvice is what a person can do about such a member. Kubernetes makes its next pod with the new template where
// members restart in batches, and after the StatefulSet was recreated around its pods.
func (sc Scope) recreateAdvice(m state.Member, why string) remedy.Remedy {
	has, what := "Kubernetes makes its pod with", "the StatefulSet without its pods"
	commands := []remedy.Command{sc.Cluster.Kubectl("delete", sc.Cluster.SetResource(), sc.Cluster.SetName(m.Kind), "--cascade=orphan")}
	if m.Pod != nil {
		has, what = "it has", what+", then its pod"
		commands = append(commands, sc.Cluster.Delete("pod", m.Name))
	}
	if m.Pod != nil && sc.Got.Set.InBatches {
		what, commands = "its pod", commands[1:]
	}
	return remedy.Remedy{remedy.Run(fmt.Sprintf("%s the old pod template, and %s; "+
		"if the new template is what it needs, delete %s, and go on", has, why, what),
		append(commands, sc.Cluster.Plugin("sync"))...)}
}
