package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Failover is no algorithm of its own. It only decides which members are given
// up and writes that down; the records make the component larger, so that
// scaling out replaces them, and without the records scaling in takes the
// replacements away again.

// failover goes on with what records say was begun, ends what is over, and gives
// up what the run's policy allows. Its gates hold nothing back.
func (sc Scope) failover(p Profile) verdict {
	if p.Failover == nil {
		return verdict{}
	}
	var v verdict
	for _, f := range sc.Want.Failures {
		got := sc.followUp(p, f)
		v.steps = append(v.steps, got.steps...)
		v.gates = append(v.gates, got.gates...)
	}
	if p.Kind.Data() == topology.Raft && !v.idle() {
		return v // one at a time: each changes what is a quorum
	}
	got := sc.giveUp(p)
	return verdict{steps: append(v.steps, got.steps...), gates: append(v.gates, got.gates...)}
}

// followUp brings one failover to its end.
func (sc Scope) followUp(p Profile, f topology.Failure) verdict {
	m, ok := sc.Got.Member(f.Member)
	switch {
	case ok && p.Kind.Data() == topology.Raft && m.Ordinal >= sc.Want.Replicas && sc.forgottenUnmarked(f, m):
		return sc.letGo(p, f, m)
	case !ok, sc.recovered(p, f, m):
		return act(ForgetFailure{Component: p.Kind, Member: f.Member})
	case m.Up() || f.Deleted || len(p.Failover.LetGo) == 0 || p.Failover.Keeps && !f.Discarded:
		return verdict{}
	}
	if v := sc.letGo(p, f, m); !v.idle() {
		return v
	}
	if again, ok := sc.retried(m); ok {
		return act(again)
	}
	if p.Failover.Keeps {
		return verdict{} // it has its replacement already
	}
	// A pod that can be recreated is back within seconds, with new data. Only
	// one that cannot, because its host is gone, needs another member beside it.
	if due := f.Created.Add(settling); sc.All.At.Before(due) {
		return wait(sc.fated(m, "gets a replacement", f.Created, due))
	}
	return act(RetireFailure{Component: p.Kind, Member: m.Name})
}

// forgottenUnmarked reports whether PD has let go of a member, and nothing says so yet.
func (sc Scope) forgottenUnmarked(f topology.Failure, m state.Member) bool {
	return m.Database.Presence != state.Present && sc.unmarked(f, m)
}

// recovered reports whether a member that was given up needs no replacement any more:
// it is back, or not wanted.
func (sc Scope) recovered(p Profile, f topology.Failure, m state.Member) bool {
	switch d := m.Database; {
	case m.Ordinal >= sc.Want.Replicas:
		return true
	case p.Kind.Data() == topology.Raft && d.Presence == state.Present && d.ID == f.ID && (d.Healthy || d.Answer == state.Answered) && !sc.loops(m):
		return true // it has its vote, whatever Kubernetes says: to remove it would be final
	}
	return m.Up() && !sc.loops(m) && (!p.Failover.Keeps || sc.Want.Recover)
}

// letGo has the database forget a member that was given up. One that PD knows by
// another id has come back since: it is not the one that was given up.
func (sc Scope) letGo(p Profile, f topology.Failure, m state.Member) verdict {
	switch {
	case m.Database.Presence == state.Unknown:
		return wait(Gate{
			Component: p.Kind, Member: m.Name, Reason: MembershipKnown, Want: "membership in PD known", Source: FromDatabase,
		})
	case m.Database.Presence == state.Present && m.Database.ID != f.ID:
		return verdict{}
	}
	if v := sc.pursue(p.Failover.LetGo, m); !v.idle() {
		if p.Kind.Data() == topology.Raft && m.Database.Presence == state.Present && !sc.SurelyDown(m) {
			return wait(sc.doubted(m))
		}
		return v
	}
	// With the data that it had, a voter can never serve again: marked, it is made
	// anew. The mark must not hit claims that have been made since, or the member
	// would be taken for one that nobody misses. A store is buried by its id, so
	// PD tells its data from what has come to its place.
	if p.Kind.Data() == topology.Raft && sc.unmarked(f, m) {
		return sc.pursue([]Hook{LeftoverMarked}, m)
	}
	return verdict{}
}

// doubted is the gate of a voter that is to be removed from PD and may have come back.
func (sc Scope) doubted(m state.Member) Gate {
	since := sc.reported(m).both
	if since.IsZero() {
		g := serving(sc, m)
		g.Observed += "; not removed from PD: only one of Kubernetes and the database says that it is down"
		return g
	}
	return sc.fated(m, "is removed from PD", since, since.Add(settling))
}

// unmarked reports whether a claim that the member had when it was given up is not
// marked yet.
func (sc Scope) unmarked(f topology.Failure, m state.Member) bool {
	return slices.ContainsFunc(m.Claims, func(c state.Claim) bool { return !c.Marked && slices.Contains(f.Claims, c.UID) })
}

// retried: the member has new claims and nothing in the database, so that nothing
// keeps it from joining but the pause after its last crash. A pod that has just
// been made has had its chance only when it has crashed for some time.
func (sc Scope) retried(m state.Member) (Step, bool) {
	if m.Pod == nil || m.Pod.Ready || m.Pod.Terminating || !m.Pod.Started.IsZero() || m.Pod.Restarts == 0 ||
		m.Database.Presence != state.Absent || len(markedClaims(m)) > 0 || sc.All.At.Sub(m.Pod.Made) < proving {
		return nil, false
	}
	return DeletePod{Component: m.Kind, Member: m.Name, UID: m.Pod.UID, Again: true}, true
}

// gaveUp tells whether a wanted member was given up together with its data, so
// that nothing may be done to bring its old self back.
func (sc Scope) gaveUp(p Profile, m state.Member) bool {
	f, ok := sc.Want.Failure(m.Name)
	return ok && p.Failover != nil && (!p.Failover.Keeps || f.Discarded)
}

// giveUp records members that are lost, and says when those will be that may yet
// come back by themselves.
func (sc Scope) giveUp(p Profile) verdict {
	var v verdict
	for _, m := range sc.Got.Running() {
		c, ok := sc.casualty(p, m)
		policy := sc.Policy.Failover
		switch {
		case !ok || !policy.covers(p.Kind):
		case sc.discards(p, c, m):
			v.steps = append(v.steps, sc.record(m, true))
		case sc.mayDiscard(p, c, m):
			v.gates = append(v.gates, sc.keptYet(m))
		case c.Record != nil:
		case c.Spared != "":
			if policy.Now {
				g := serving(sc, m)
				g.Observed += "; not given up: " + c.Spared
				v.gates = append(v.gates, g)
			}
		case !sc.All.At.Before(c.due(policy)) && m.Ordinal >= sc.Want.Replicas:
			v = v.and(sc.pursue([]Hook{LeftoverMarked}, m)) // it gets new data, and no replacement
		case !sc.All.At.Before(c.due(policy)):
			v.steps = append(v.steps, sc.record(m, slices.Contains(policy.Discard, m.Name) && p.Failover.Keeps))
		default:
			v.gates = append(v.gates, sc.fated(m, "is given up", c.Since, c.due(policy)))
		}
		if len(v.steps) > 0 {
			return v // the next one is decided with this one's record
		}
	}
	return v
}

// fated is the gate of a member that need not serve again for things to go on: when
// its time is over something else happens, whatever a person does.
func (sc Scope) fated(m state.Member, then string, since, due time.Time) Gate {
	g := serving(sc, m)
	g.Observed += "; at the time limit it " + then
	g.Since, g.Deadline, g.Blocked, g.held, g.fated = since, due, false, false, true
	return g
}

// besides puts what failover says of members with what the other phases wait for,
// so that nobody has to read of one member twice: what is waited for, and what
// happens when. Who is only waited for elsewhere is left out there.
func besides(failing, gates []Gate) []Gate {
	var others []Gate
	for _, g := range gates {
		i := slices.IndexFunc(failing, func(f Gate) bool { return f.Member == g.Member })
		switch {
		case i < 0 || g.Reason != MemberServing:
			others = append(others, g)
		case failing[i].fated:
			failing[i].Remedy = g.Remedy
		case failing[i].Reason == g.Reason:
			g.Observed = failing[i].Observed
			failing[i] = g
		case failing[i].Blocked:
			others = append(others, g)
		}
	}
	return append(failing, others...)
}

// discards reports whether the data of a member that was given up is to go for good. A
// member that nobody can be asked about may serve again by now.
func (sc Scope) discards(p Profile, c Casualty, m state.Member) bool {
	return sc.mayDiscard(p, c, m) && sc.SurelyDown(m)
}

// mayDiscard reports whether the user asks for it, of a member that does not serve.
func (sc Scope) mayDiscard(p Profile, c Casualty, m state.Member) bool {
	return p.Failover.Keeps && c.Record != nil && !c.Record.Discarded && !m.Up() &&
		slices.Contains(sc.Policy.Failover.Discard, m.Name)
}

// keptYet is the gate of data that the user gives up, while there is too little evidence
// that its member does not serve. Without it a run that was asked for just this would
// end as if it were done.
func (sc Scope) keptYet(m state.Member) Gate {
	since := sc.reported(m).both
	if since.IsZero() {
		g := serving(sc, m)
		g.Observed += "; its data is kept: only one of Kubernetes and the database says that it is down"
		return g
	}
	return sc.fated(m, "loses its data", since, later(since.Add(settling), sc.storesHeard(m)))
}

func (sc Scope) record(m state.Member, discarded bool) Step {
	s := RecordFailure{
		Component: m.Kind, Member: m.Name, ID: m.Database.ID, Name: m.Database.Name, Discarded: discarded,
	}
	for _, c := range m.Claims {
		s.Claims = append(s.Claims, c.UID)
	}
	return s
}

// advise tells those who wait for a member that is lost what can be done.
func (sc Scope) advise(p Profile, gates []Gate) {
	for i := range gates {
		if gates[i].Reason != MemberServing {
			continue
		}
		m, _ := sc.Got.Member(gates[i].Member)
		c, ok := sc.casualty(p, m)
		switch look := gates[i].Remedy; {
		case !ok:
		case c.Record == nil && c.Spared == "" && !sc.All.At.Before(c.Due) && !sc.Policy.Failover.covers(p.Kind):
			gates[i].Remedy = append(remedy.Remedy{remedy.Run("replace it", sc.Cluster.Plugin("failover", "run"))}, look...)
		case c.Record != nil && p.Failover.Keeps && !c.Record.Discarded && !m.Up():
			// It has its replacement, and is waited for only because PD still counts
			// on its data.
			gates[i].Remedy = append(remedy.Remedy{remedy.Run("if it never comes back", sc.Cluster.Plugin("failover", "run",
				"--component", string(p.Kind), "--discard", m.Name))}, look...)
		}
	}
}

// Casualty is a member that is down or was given up, and what becomes of it.
type Casualty struct {
	Member  state.Member
	Trouble string    // why it does not serve, "" when it does
	Since   time.Time // since when all who can tell agree, zero when they do not
	Due     time.Time // when it may be given up, zero when time alone does not lead there
	Known   time.Time // when it may be given up by a user who does not wait until it is due
	Spared  string    // why it is not given up, whatever time it is
	Record  *topology.Failure
}

func (c Casualty) due(policy Failing) time.Time {
	if policy.Now {
		return c.Known
	}
	return c.Due
}

// Casualties are the members of all components that are down or given up.
func Casualties(profiles []Profile, policy Policy, w desired.State, s state.Snapshot) []Casualty {
	var all []Casualty
	for _, sc := range scopesOf(&policy, &w, &s) {
		for _, m := range sc.Got.Running() {
			if c, ok := sc.casualty(profileOf(profiles, sc.Want.Kind), m); ok {
				all = append(all, c)
			}
		}
	}
	return all
}

// casualty judges one member; false when there is nothing to say of it.
func (sc Scope) casualty(p Profile, m state.Member) (Casualty, bool) {
	c := Casualty{Member: m, Trouble: m.Trouble(), Since: sc.downSince(m)}
	f, given := sc.Want.Failure(m.Name)
	switch {
	case !sc.Kept(m), m.Up() && !given:
		return Casualty{}, false
	case given:
		c.Record = &f
		return c, true
	}
	c.Since = sc.onTheWhole(m).both
	if p.Kind.Data() == topology.None {
		c.Since = sc.unreadySince(m) // to add a server takes nothing from anybody
	}
	c.Spared = sc.spared(p, m, c.Since)
	if p.Failover != nil && !c.Since.IsZero() {
		c.Known = sc.storesHeard(m)
		c.Due = later(c.Since.Add(p.Failover.Period(sc)), c.Known)
	}
	return c, true
}

// spared is the reason not to give a member up, "" when there is none.
func (sc Scope) spared(p Profile, m state.Member, since time.Time) string {
	first, queued := sc.before(m)
	replaces := m.Ordinal >= sc.Want.Replicas
	switch {
	case p.Failover == nil || sc.Want.MaxFailures == 0:
		return "failover is switched off: maxFailoverCount is 0"
	case replaces && !sc.expelled(p, m):
		return "it replaces another member, and gets no replacement itself"
	case !replaces && len(sc.Want.Failures) >= sc.Want.MaxFailures:
		return fmt.Sprintf("%d of %d failovers are used up", len(sc.Want.Failures), sc.Want.MaxFailures)
	case !isDown(m):
		return "nobody knows whether it serves"
	case m.Database.Answer == state.Answered:
		return "its own port answers"
	case queued:
		return "Kubernetes makes its pod after " + first.Name
	case removalIrreversible(m):
		return "it is being removed"
	}
	if why := sc.inRollout(m); why != "" && !sc.expelled(p, m) {
		return why
	}
	if why := p.Failover.Spare(sc, m, sc.Policy.Failover.Now); why != "" {
		return why
	}
	if since.IsZero() {
		return "only one of Kubernetes and the database says that it is down"
	}
	return ""
}

// inRollout is why a rollout is reason enough for a member to be down, "" when it is
// not.
func (sc Scope) inRollout(m state.Member) string {
	switch {
	case !sc.rolling() && sc.Got.Set.Completed():
	case !sc.Got.Outdated(m) && !sc.updateRevisionServes():
		// More pods of a template that fails would fail as well. Where another
		// member serves with it, it is not the template.
		return "its pod is of the revision that is being rolled out"
	case m.Pod != nil && m.Pod.Terminating && sc.All.At.Sub(m.Pod.Since) < patience:
		return "its pod is being replaced"
	}
	return ""
}

// replaced tells whether all that is missing was given up and replaced, so that
// as many members serve as the user asks for. One that crashes again and again
// does not, though it may run just now.
func (sc Scope) replaced() bool {
	if sc.Want.Recover || !sc.Got.Set.Completed() {
		return false
	}
	serve := 0
	for _, m := range sc.Got.Running() {
		if m.Up() && !sc.loops(m) {
			serve++
			continue
		}
		if f, given := sc.Want.Failure(m.Name); !given || f.Discarded {
			return false
		}
	}
	return serve >= sc.Want.Replicas
}

// covers tells whether members of a component may be given up.
func (f Failing) covers(k topology.Kind) bool {
	return f.Members && (len(f.Only) == 0 || slices.Contains(f.Only, k))
}
