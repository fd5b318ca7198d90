package plan

import (
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// NeedsLock reports whether the plan may be carried out only with the lock that all parts of the database share. Each
// part has a driver of its own. Two drivers that decide at the same moment would take a member down each, and PD or
// regions may have no quorum without both.
func (p Plan) NeedsLock() bool { return p.exclusive && slices.ContainsFunc(p.Steps, TakesAway) }

// needsLock reports whether a step may be taken only with that lock. A member that is known not to serve is not taken
// away by its restart. Such a restart needs no lock, because PD may have no quorum and no lock without that member.
func (d *decision) needsLock(s step.Step) bool {
	if !d.All.PD.Shared || !TakesAway(s) {
		return false
	}
	_, name := s.Target()
	m, is := d.Got.Member(name)
	_, restarts := s.(step.Restart)
	return !is || !restarts || !d.RestartIsHarmless(m)
}

// holdForOtherPart holds back what needs the lock while another part has it.
func (d *decision) holdForOtherPart(v verdict) verdict {
	if d.All.PD.LockedBy == "" {
		return v
	}
	var steps []step.Step
	for _, s := range v.steps {
		if !d.needsLock(s) {
			steps = append(steps, s)
			continue
		}
		_, name := s.Target()
		// What the step is for is not waited for now.
		v.gates = slices.DeleteFunc(v.gates, func(g Gate) bool { return name != "" && g.Member == name && g.Reason != MemberServing })
		v.gates = append(v.gates, d.otherPartGate(name))
	}
	v.steps = steps
	return v
}

// otherPartGate waits until no other part takes members away.
func (sc Scope) otherPartGate(member string) Gate {
	return Gate{
		Component: sc.Want.Kind, Member: member, Reason: OtherPartIdle, Want: "no other part takes members away",
		Observed: sc.All.PD.LockedBy, Source: FromDatabase, patience: Moving,
		Remedy: remedy.Remedy{
			remedy.Say("wait until the members of that part serve again; see what its driver waits for"),
			remedy.Say("if that driver does not run any more, PD ends its lock after two minutes at most"),
		},
	}
}

// TakenAway reports whether a member is missing that was there at a given time. Such a member was taken away since, by
// a restart for example.
func TakenAway(s state.Snapshot, since time.Time) bool {
	for _, g := range s.Groups {
		for _, m := range g.InSet() {
			if !m.Up() && (m.Pod == nil && !m.Gone.Before(since) || m.Pod != nil && (m.Pod.Terminating || !m.Pod.Made.Before(since))) {
				return true
			}
		}
	}
	return false
}
