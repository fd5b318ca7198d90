package plan

import (
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Failover only decides which members are given up and records that. The records make
// the component larger, so that scaling out adds the replacements. When a record is
// gone, scaling in removes the replacement.

// failover continues failovers that are recorded, ends failovers that are over, and gives up
// members as the run's policy allows. A gate of failover stops no other phase. Only a step does.
func (d *decision) failover() verdict {
	if d.profile.Failover == nil {
		return verdict{}
	}
	var v verdict
	for _, f := range d.Want.Failures {
		got := d.followUp(f)
		v.steps = append(v.steps, got.steps...)
		v.gates = append(v.gates, got.gates...)
	}
	if d.Want.Kind.Data() == topology.Raft && !v.idle() {
		return v // one at a time, since each changes the size of a quorum
	}
	got := d.giveUp()
	return verdict{steps: append(v.steps, got.steps...), gates: append(v.gates, got.gates...)}
}

// followUp brings one failover to its end.
func (d *decision) followUp(f topology.Failure) verdict {
	m, ok := d.Got.Member(f.Member)
	switch {
	case d.Want.Kind.Data() == topology.Raft && !d.Want.InSpec(m.Ordinal) && d.ForgottenUnmarked(f, m):
		return d.removeFromDatabase(f, m)
	case !ok, d.recovered(f, m):
		return act(step.ForgetFailure{Component: d.Want.Kind, Member: f.Member})
	case m.Up() || f.Deleted || len(d.profile.Failover.RemoveFromDatabase) == 0 || d.profile.Failover.Keeps && !f.Discarded:
		return verdict{}
	}
	if v := d.removeFromDatabase(f, m); !v.idle() {
		return v
	}
	if again, ok := d.retried(m); ok {
		return act(again)
	}
	if d.profile.Failover.Keeps {
		return verdict{} // it has its replacement already
	}
	// A pod that can be recreated is back within seconds, with new data. Only a pod that cannot,
	// because its host is gone, needs another member beside it.
	if due := f.Created.Add(facts.Settling); d.All.At.Before(due) {
		return wait(d.untilDeadline(m, "gets a replacement", f.Created, due))
	}
	return act(step.RetireFailure{Component: d.Want.Kind, Member: m.Name})
}

// recovered reports whether a member that was given up needs no replacement any more:
// it is back, or not wanted.
func (d *decision) recovered(f topology.Failure, m state.Member) bool {
	switch db := m.Database; {
	case !d.Want.InSpec(m.Ordinal):
		return true
	case d.Want.Kind.Data() == topology.Raft && db.Presence == state.Present && db.ID == f.ID && (db.Healthy || db.Answer == state.Answered) && !d.Loops(m):
		return true // it votes, whatever Kubernetes reports, and its removal would be final
	}
	return m.Up() && !d.Loops(m) && (!d.profile.Failover.Keeps || d.Want.Recover)
}

// removeFromDatabase removes a member that was given up from the database. A member that
// PD knows by another id has come back since: it is not the one that was given up.
func (d *decision) removeFromDatabase(f topology.Failure, m state.Member) verdict {
	switch {
	case m.Database.Presence == state.Unknown:
		return wait(Gate{
			Component: d.Want.Kind, Member: m.Name, Reason: MembershipKnown, Want: "membership in PD known", Source: FromDatabase,
		})
	case m.Database.Presence == state.Present && m.Database.ID != f.ID:
		return verdict{}
	}
	if v := d.pursue(d.profile.Failover.RemoveFromDatabase, m); !v.idle() {
		if d.Want.Kind.Data() == topology.Raft && !d.SurelyDown(m) {
			return wait(d.mayServeAgain(m))
		}
		return v
	}
	// With the data that it had, a voter can never serve again, so its claims are marked and
	// recreated. Claims that were created since must not be marked, or the member would look like
	// one that was removed. A store is removed by its id, so PD distinguishes the data from that of
	// the store that replaces it.
	if d.Want.Kind.Data() == topology.Raft && d.HasUnmarked(f, m) {
		return d.pursue([]Hook{LeftoverMarked}, m)
	}
	return verdict{}
}

// mayServeAgain is the gate of a voter that is to be removed from PD and may have come
// back.
func (sc Scope) mayServeAgain(m state.Member) Gate {
	since := sc.Reported(m).Both
	if since.IsZero() {
		g := serving(sc, m)
		g.Observed += "; not removed from PD: only one of Kubernetes and the database says that it is down"
		return g
	}
	return sc.untilDeadline(m, "is removed from PD", since, since.Add(facts.Settling))
}

// retried returns a step that recreates the pod of a member with new claims that is not
// in the database. Only the pause after its last crash keeps it from joining. A pod that
// was created just now has to crash for some time first.
func (sc Scope) retried(m state.Member) (step.Step, bool) {
	if m.Pod == nil || m.Pod.Ready || m.Pod.Terminating || !m.Pod.Started.IsZero() || m.Pod.Restarts == 0 ||
		m.Database.Presence != state.Absent || len(m.MarkedClaims()) > 0 || sc.All.At.Sub(m.Pod.Made) < facts.Proving {
		return nil, false
	}
	return step.DeletePod{Component: m.Kind, Member: m.Name, UID: m.Pod.UID, Again: true}, true
}

// gaveUp reports whether a wanted member was given up together with its data. Nothing may be done
// to bring the old member back then.
func (d *decision) gaveUp(m state.Member) bool {
	f, ok := d.Want.Failure(m.Name)
	return ok && d.profile.Failover != nil && (!d.profile.Failover.Keeps || f.Discarded)
}

// gaveUpData reports whether a member was given up together with the data that it has now. With claims that were made
// since, it is the replacement itself.
func (d *decision) gaveUpData(m state.Member) bool {
	f, _ := d.Want.Failure(m.Name)
	return d.gaveUp(m) && (len(f.Claims) == 0 || m.HasClaimOf(f.Claims))
}

// giveUp records members that are lost. For members that may come back by themselves giveUp reports
// when they are given up.
func (d *decision) giveUp() verdict {
	var v verdict
	for _, m := range d.Got.InSet() {
		c, ok := d.lostMember(m)
		policy := d.Policy.Failover
		switch {
		case !ok || !policy.covers(d.Want.Kind):
		case d.discards(c, m):
			v.steps = append(v.steps, d.record(m, true))
		case d.mayDiscard(c, m):
			v.gates = append(v.gates, d.dataKept(m))
		case c.Record != nil:
		case c.Spared != "":
			if policy.Now {
				g := serving(d.Scope, m)
				g.Observed += "; not given up: " + c.Spared
				v.gates = append(v.gates, g)
			}
		case !d.All.At.Before(c.due(policy)) && (!d.Want.InSpec(m.Ordinal) || d.FailoversUsedUp()):
			v = v.plus(d.pursue([]Hook{LeftoverMarked}, m)) // it gets new data, and no replacement
		case !d.All.At.Before(c.due(policy)):
			v.steps = append(v.steps, d.record(m, slices.Contains(policy.Discard, m.Name) && d.profile.Failover.Keeps))
		case d.Want.Kind.Data() == topology.None && d.Loops(m):
			// Each crash begins the period again, so that its end may never come. The gate of a member that does not
			// serve has an end, after which the run reports the member.
		default:
			v.gates = append(v.gates, d.notDue(c))
		}
		if len(v.steps) > 0 {
			return v // the next one is decided with this one's record
		}
	}
	return v
}

// untilDeadline returns the gate of a member that need not serve again. At the deadline another
// step follows, also if no person does anything.
func (sc Scope) untilDeadline(m state.Member, then string, since, due time.Time) Gate {
	g := serving(sc, m)
	g.Observed += "; at the time limit it " + then
	g.Since, g.Deadline, g.Blocked, g.waitsForOthers, g.resolves = since, due, false, false, true
	return g
}

// mergeGates joins the gates of failover with the gates of the other phases, so that each member has
// one line. The line says what is waited for, and what happens when. A member that only other
// phases wait for keeps its gate.
func mergeGates(failing, gates []Gate) []Gate {
	var others []Gate
	for _, g := range gates {
		i := slices.IndexFunc(failing, func(f Gate) bool { return f.Member == g.Member })
		switch {
		case i < 0 || g.Reason != MemberServing:
			others = append(others, g)
		case failing[i].resolves:
			failing[i].Remedy = g.Remedy
		case failing[i].Blocked:
			others = append(others, g) // once removes it where failing has the same
		}
	}
	return append(failing, others...)
}

// discards reports whether the data of a member that was given up is to be deleted for
// good. A member that cannot be asked may serve again now.
func (d *decision) discards(c LostMember, m state.Member) bool {
	return d.mayDiscard(c, m) && d.SurelyDown(m)
}

// mayDiscard reports whether the user asks for that, for a member that does not serve.
func (d *decision) mayDiscard(c LostMember, m state.Member) bool {
	return d.profile.Failover.Keeps && c.Record != nil && !c.Record.Discarded && !m.Up() &&
		slices.Contains(d.Policy.Failover.Discard, m.Name)
}

// dataKept is the gate of data that the user gives up, while its member may still serve. There is
// too little evidence that it does not. Without this gate a run that was asked for exactly this
// would end as if it were done.
func (sc Scope) dataKept(m state.Member) Gate {
	since := sc.Reported(m).Both
	if since.IsZero() {
		g := serving(sc, m)
		g.Observed += "; its data is kept: only one of Kubernetes and the database says that it is down"
		return g
	}
	return sc.untilDeadline(m, "loses its data", since, facts.Later(since.Add(facts.Settling), sc.StoresHeard(m)))
}

func (sc Scope) record(m state.Member, discarded bool) step.Step {
	s := step.RecordFailure{
		Component: m.Kind, Member: m.Name, ID: m.Database.ID, Name: m.Database.Name, Discarded: discarded,
	}
	for _, c := range m.Claims {
		s.Claims = append(s.Claims, c.UID)
	}
	return s
}

// LostMember is a member that is down or was given up, and what happens next.
type LostMember struct {
	Member  state.Member
	Trouble string    // why it does not serve, "" when it does
	Since   time.Time // since when all sources agree that it is down, zero when they do not
	Due     time.Time // when it may be given up, zero when time alone does not lead there
	Known   time.Time // when it may be given up by a user who does not wait until it is due
	Spared  string    // why it is not given up, whatever time it is
	Record  *topology.Failure
}

func (c LostMember) due(policy Failing) time.Time {
	if policy.Now {
		return c.Known
	}
	return c.Due
}

// LostMembers returns the members of all components that are down or given up.
func LostMembers(profiles []Profile, policy Policy, w desired.State, s state.Snapshot) []LostMember {
	var all []LostMember
	for _, d := range decisionsOf(profiles, &policy, &w, &s) {
		for _, m := range d.Got.InSet() {
			if c, ok := d.lostMember(m); ok {
				all = append(all, c)
			}
		}
	}
	return all
}

// lostMember returns what to report of one member, and false when it is neither down nor
// given up.
func (d *decision) lostMember(m state.Member) (LostMember, bool) {
	c := LostMember{Member: m, Trouble: m.Trouble(), Since: d.DownSince(m)}
	f, given := d.Want.Failure(m.Name)
	switch {
	case !d.Kept(m), m.Up() && !given:
		return LostMember{}, false
	case given:
		c.Record = &f
		return c, true
	}
	c.Since = d.LostSince(m)
	c.Spared = d.whyNotGivenUp(m, c.Since)
	if d.profile.Failover != nil && !c.Since.IsZero() {
		c.Known = d.StoresHeard(m)
		c.Due = facts.Later(facts.Later(c.Since, d.CertifiedSince()).Add(d.profile.Failover.Period(d.Scope)), c.Known)
		if d.Want.Kind.Data() == topology.None { // Kubernetes is the only source, and may have an old report
			c.Due = facts.Later(c.Due, m.Silent.Add(facts.Settling))
		}
	}
	return c, true
}

// whyNotGivenUp returns the reason not to give a member up, "" when there is none.
func (d *decision) whyNotGivenUp(m state.Member, since time.Time) string {
	s := d.about(m)
	s.lost.Since = since
	return objection(sparing, s)
}

// inRollout returns why a rollout explains that a member is down, "" when it does not.
func (s *subject) inRollout() string {
	m := s.member
	switch {
	case !s.Rolling() && s.Got.Set.Completed():
	case !s.Got.Outdated(m) && !s.UpdateRevisionServes():
		// More pods of a template that fails would fail as well. If another member serves with the
		// template, it is not the cause.
		return "its pod is of the revision that is being rolled out"
	case m.Pod != nil && m.Pod.Terminating && s.All.At.Sub(m.Pod.Since) < facts.TimeToServe:
		return "its pod is being replaced"
	}
	return ""
}

// covers reports whether members of a component may be given up.
func (f Failing) covers(k topology.Kind) bool {
	return f.Members && (len(f.Only) == 0 || slices.Contains(f.Only, k))
}
