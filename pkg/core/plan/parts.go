package plan

import (
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// NeedsLock reports whether a step may be taken only with the lock that all parts of the database share. Each part has a
// driver of its own. Two drivers that decide at the same moment would take a member down each, and PD or regions may have
// no quorum without both.
func (p Plan) NeedsLock() bool { return slices.Contains(p.locked, true) }

// WithoutLock returns the steps that may be taken without that lock.
func (p Plan) WithoutLock() []step.Step {
	var steps []step.Step
	for i, s := range p.Steps {
		if !p.locked[i] {
			steps = append(steps, s)
		}
	}
	return steps
}

// markLocked notes which steps need the lock.
func (p *Plan) markLocked(decisions []decision) {
	p.locked = make([]bool, len(p.Steps))
	for i, s := range p.Steps {
		kind, _ := s.Target()
		for j := range decisions {
			if decisions[j].Want.Kind == kind && decisions[j].needsLock(s) {
				p.locked[i] = true
			}
		}
	}
}

// needsLock reports whether a step may be taken only with that lock. Servers that keep no data need none, because each
// part has servers of its own. A member that is known not to serve is not taken away by its restart. Such a restart needs
// no lock, because PD may have no quorum and no lock without that member.
func (d *decision) needsLock(s step.Step) bool {
	if !d.Cluster.IsPart() && !d.All.PD.Shared || d.Want.Kind.Data() == topology.None || !TakesAway(s) {
		return false
	}
	_, name := s.Target()
	m, is := d.Got.Member(name)
	_, restarts := s.(step.Restart)
	return !is || !restarts || !d.RestartIsHarmless(m)
}

// holdForOtherPart holds back what needs the lock while another part has it.
func (d *decision) holdForOtherPart(v verdict) verdict {
	return d.hold(v, func(s step.Step, name string) (Gate, bool) {
		if d.All.PD.LockedBy == "" || !d.needsLock(s) {
			return Gate{}, false
		}
		return d.otherPartGate(name), true
	})
}

// otherPartGate waits until no other part takes members away.
func (sc Scope) otherPartGate(member string) Gate {
	return Gate{
		Component: sc.Want.Kind, Member: member, Reason: OtherPartIdle, Want: "no other part takes members away",
		Observed: sc.All.PD.LockedBy, Source: FromDatabase, patience: Moving,
		Remedy: remedy.Remedy{
			remedy.Run("see which pods are not ready", sc.Cluster.Kubectl("get", "pods", "--watch")),
			remedy.Say("if that driver does not run any more, PD ends its lock after 90 seconds"),
		},
	}
}

// Away is a member that a step takes away for a while, with the pod that it had before.
type Away struct {
	Kind   topology.Kind
	Member string
	PodUID string
	Since  time.Time
}

// TakenAway returns the members that the steps of the plan take away, and that come back or go for good. A member whose
// leaders leave counts already. Otherwise two parts would move leaders to and from each other's stores.
func (p Plan) TakenAway(s state.Snapshot) []Away {
	var all []Away
	for i, next := range p.Steps {
		kind, name := next.Target()
		if !p.locked[i] {
			continue
		}
		switch next := next.(type) {
		case step.Restart, step.EvictLeaders, step.MoveLeader:
			m, _ := s.Groups[kind].Member(name)
			if m.Pod != nil {
				all = append(all, Away{kind, name, m.Pod.UID, s.At})
			}
		case step.Resize:
			for _, m := range s.Groups[kind].InSet() {
				if m.Pod != nil && !s.Groups[kind].Set.Ordinals().Resized(next.To).Has(m.Ordinal) {
					all = append(all, Away{kind, m.Name, m.Pod.UID, s.At})
				}
			}
		}
	}
	return all
}

// restartLate is how long a copy of the objects may not show yet what a step has written. It is also how long another
// part waits for a restart before which leaders leave.
const restartLate = 30 * time.Second

// StillAway reports whether a member that was taken away is not back, and others cannot know that yet. The pod is
// deleted only later than the step, so an old pod that serves proves nothing while its StatefulSet may replace it. What PD
// itself calls down is seen by the drivers of all parts.
func StillAway(s state.Snapshot, a Away) bool {
	g := s.Groups[a.Kind]
	m, found := g.Member(a.Member)
	switch {
	case !found || !g.Set.Has(m.Ordinal) && m.Pod == nil:
		return false
	case m.Pod != nil && m.Pod.UID != a.PodUID && m.Up():
		return false
	case m.Database.Presence == state.Present && !m.Database.Healthy && m.Database.State != state.StoreUp:
		return false
	case m.Up() && !m.Pod.Terminating && g.Set.Has(m.Ordinal):
		// The step has failed, or the controller has not begun.
		replaces := m.Ordinal >= g.Set.Partition && m.Pod.Revision != g.Set.UpdateRevision
		return replaces || s.At.Sub(a.Since) < restartLate
	}
	return true
}
