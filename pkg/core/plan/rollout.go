package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// patience is how long a pod may be NotReady before a person is asked for help. A first start on a
// new node, with images to pull, takes minutes.
const patience = 10 * time.Minute

// settling is how long a new state is given to change by itself.
const settling = 2 * time.Minute

// proving is how long a process must run before it counts as able to serve.
const proving = 30 * time.Second

// repair gives a member that does not serve the wanted template before anything else is done for
// the component. If the member is down because of the old template, only this helps: a wait until
// it is healthy would never end. A restart that is not free takes the ordinary path, after
// cancelObsolete: a store that was restarted before must have its leaders back first, otherwise
// more and more stores would have none. Where that is not possible, the other phases continue.
func (sc Scope) repair(p Profile, h hold) verdict {
	if h.rolling || !sc.anyDown(p) {
		return verdict{}
	}
	m, ok := sc.candidate()
	if v := sc.upload(); !v.idle() || sc.LeftToUser(m) {
		return v
	}
	switch {
	case !ok || !sc.downOrNoQuorum(p, m) || !sc.worthTrying(p, m):
		return verdict{}
	case sc.free(p, m):
		return act(sc.restart(m))
	case h.by != "" || !sc.needs(p).idle() || !sc.cancelObsolete(p).idle() || !sc.replaceable(p, m) || !sc.peersServe(p, m):
		return verdict{}
	}
	return sc.replace(p, m)
}

// repairable waits for the evidence that lets repair restart a member, where nothing else can be
// done before a person does something. Part of the evidence only this process has observed: a run
// that ended at once would never observe it for long enough.
func (sc Scope) repairable(p Profile, h hold, gates []Gate) verdict {
	m, ok := sc.candidate()
	if h.rolling || sc.LeftToUser(m) || !allBlocked(gates) {
		return verdict{}
	}
	if !ok || !sc.downOrNoQuorum(p, m) || !sc.worthTrying(p, m) {
		return verdict{}
	}
	due := sc.freeAt(p, m)
	if !sc.All.At.Before(due) {
		return verdict{}
	}
	return wait(sc.untilDeadline(m, "is restarted", sc.reported(m).both, due))
}

// worthTrying reports whether the update revision may help a member that is down and might also
// recover by itself. If another member has that revision and does not serve, a restart of this one
// as well could turn a crash of a minute into a lasting loss.
func (sc Scope) worthTrying(p Profile, m state.Member) bool {
	failsAnyway := sc.removedFromPD(p, m) && !sc.precedes(p, m) && !sc.runsUnlisted(m)
	if sc.held(m) || m.Pod != nil && m.Pod.Terminating || dataBeingDeleted(p, m) || sc.goesNext(p, m) || failsAnyway {
		return false
	}
	failing := sc.failing(m)
	if sc.updateRevisionServes() {
		failing = nil
	}
	switch {
	case p.Kind.Data() != topology.Raft || m.Database.Presence != state.Unknown:
		return len(failing) == 0 || sc.cannotServe(m)
	case len(failing) == 0 && (m.Pod == nil || !m.Pod.Ready):
		return true
	}
	return sc.deadlocked(failing)
}

// cannotServe reports whether a member with an old revision cannot be expected to serve as it
// is, so that a restart takes nothing away, even if others fail with the update revision,
// perhaps for reasons of their own. Its container is Ready and refuses connections, for long by PD's
// report; or its pod has a revision that Kubernetes would not create again, and its
// container has not run for long, or has crashed again and again for that long.
func (sc Scope) cannotServe(m state.Member) bool {
	switch {
	case m.Pod == nil:
		return false
	case m.Pod.Ready:
		return sc.downForLong(m)
	}
	return m.Pod.Revision != sc.Got.Set.CurrentRevision &&
		m.Stopped() && (!m.Pod.Ran || sc.loops(m)) && sc.All.At.Sub(sc.unchangedSince(m)) >= patience
}

// goesNext reports whether nothing keeps a member from getting new data, or from
// being removed.
func (sc Scope) goesNext(p Profile, m state.Member) bool {
	top := m.Ordinal == sc.Got.Set.Replicas-1
	return sc.renewable(p, m) || removalIrreversible(m) && top && (!sc.Kept(m) || sc.storeForgotten(p, m))
}

// updateRevisionServes reports whether a member has served with the update revision for a while. A
// member that fails with it then fails for another reason: PD lets no member join while one that
// was added has yet to start, and that may be the one that is down.
func (sc Scope) updateRevisionServes() bool {
	for _, m := range sc.Got.Running() {
		if !sc.Got.Outdated(m) && m.Up() && !sc.loops(m) &&
			!m.Pod.Started.IsZero() && sc.All.At.Sub(m.Pod.Started) >= settling {
			return true
		}
	}
	return false
}

// failing returns the members, except one, that have the update revision and do not serve. One that a
// user has named is among them: it is not known yet whether its restart helps.
func (sc Scope) failing(except state.Member) []state.Member {
	var failing []state.Member
	for _, m := range sc.Got.Running() {
		removed := removalIrreversible(m) && m.Pod != nil && m.Pod.Ran // it fails for another reason
		_, queued := sc.before(m)
		if m.Ordinal != except.Ordinal && !sc.Got.Outdated(m) && (!m.Up() || sc.loops(m)) && !removed && !queued {
			failing = append(failing, m)
		}
	}
	return failing
}

// deadlocked reports whether voters have no quorum, so that none of them serves, whatever its
// revision, and nothing suggests that this will end by itself. An election takes seconds, and a
// process recovers from a crash in minutes or not at all. It is enough evidence that members of the
// update revision run, and after a long time that they have run: without a quorum a new voter
// cannot keep running. A PD that only cannot be asked may have a quorum: then only a member whose process
// does not run is free.
func (sc Scope) deadlocked(failing []state.Member) bool {
	wait := settling
	for _, c := range failing {
		switch {
		case c.Pod == nil || !c.Pod.Ran:
			return false
		case c.Pod.Started.IsZero():
			wait = patience
		case sc.All.At.Sub(c.Pod.Started) < proving:
			return false
		}
	}
	for _, m := range sc.Got.Running() {
		if m.Pod == nil || m.Pod.Revision != sc.Got.Set.CurrentRevision || !sc.Got.Outdated(m) {
			continue // it has never served with its revision
		}
		if sc.All.At.Sub(sc.idleSince(m)) < wait {
			return false
		}
	}
	return true
}

// idleSince returns since when a voter can hardly have served. One that crashes again and
// again may serve in between if it runs for long enough, and then a restart with a revision
// that fails elsewhere would end that for good.
func (sc Scope) idleSince(m state.Member) time.Time {
	if p := m.Pod; p.Last.Ended.Sub(p.Last.Started) > proving {
		return later(p.Started, p.Since)
	}
	return sc.unchangedSince(m)
}

// beforeRollout must hold before the next member of a component is restarted, in this order: first what is true of the
// whole component, then which member is next.
var beforeRollout = []condition{
	{want: "no rollout of an earlier component", because: "components are restarted in an order that keeps versions compatible", by: ByTool, waits: (*subject).queued},
	{want: "configuration and pod template written", because: "a pod that is made now gets them", by: ByTool, waits: (*subject).written},
	{want: "all other members serving", because: "a restart takes a member away while no other one is missing", by: ByKubernetes, waits: (*subject).peersServing},
	{want: StoresElsewhereWanted, because: "stores of other clusters have copies of the same regions", by: ByPerson, waits: (*subject).elsewhere},
	{want: "StatefulSet shows the finished rollout", because: "members that a user has named come after the rollout", by: ByKubernetes, waits: (*subject).ended},
	{want: "canary promoted", because: "a person decides whether the other members follow", by: ByPerson, waits: (*subject).canary},
	{want: "restart not left to a person", because: "with OnDelete only a person restarts members", by: ByPerson, waits: (*subject).manual},
}

// beforeRestart must hold before the pod of the next member is replaced, in this order: what leaves the member comes last,
// because the member does without it from then on.
var beforeRestart = []condition{
	{want: "restarted members ready for long enough", because: "spec.minReadySeconds asks for that", by: ByKubernetes, waits: func(s *subject) verdict { return s.minReadyPassed() }},
	{by: ByDatabase, because: "clients notice the restart as little as possible", goals: func(p *Profile) []Hook { return p.BeforeRestart }},
	{want: "pod not being replaced already", because: "Kubernetes replaces the pod, since its partition is lowered", by: ByKubernetes, waits: (*subject).underReplacement},
}

// rollout replaces pods one by one, from the highest ordinal down.
func (sc Scope) rollout(p Profile, h hold) verdict {
	next, _ := sc.candidate()
	s := sc.about(p, h, next)
	if v := first(beforeRollout, s); !v.idle() || !s.due {
		return v
	}
	return sc.replace(p, next)
}

// queued waits for an earlier component, where there is anything to roll out.
func (s *subject) queued() verdict {
	_, outdated := s.outdated()
	if s.hold.by == "" || !s.due && !outdated && !s.drifted() {
		return verdict{}
	}
	queued := wait(Gate{
		Component: s.profile.Kind, Reason: RolloutQueued, Want: "rollout can begin", held: true,
		Observed: "rollout queued behind " + s.hold.by.Title(),
	})
	if s.hold.canary {
		queued = down(s.Scope, s.Got.Running(), nil).and(queued)
	}
	return queued
}

func (s *subject) written() verdict { return s.upload() }

// peersServing waits for members that do not serve. A component of which all members are replaced, and nothing is to be
// rolled out, does not wait for those that were given up.
func (s *subject) peersServing() verdict {
	if _, outdated := s.outdated(); !s.due && !outdated && s.replaced() {
		return verdict{}
	}
	return s.peersDown(s.profile, s.member)
}

func (s *subject) elsewhere() verdict {
	if !s.due {
		return verdict{}
	}
	return s.storesElsewhere(s.profile)
}

// ended waits for the end of a rollout of which no pod is left to replace. Members that a user has named come then.
func (s *subject) ended() verdict {
	if _, outdated := s.outdated(); outdated {
		return verdict{}
	}
	return s.finished(s.due)
}

// canary stops the rollout where only members are left that a canary holds.
func (s *subject) canary() verdict {
	last, outdated := s.outdated()
	if s.due || !outdated {
		return verdict{}
	}
	return s.Scope.hold(s.profile, last)
}

func (s *subject) manual() verdict {
	if !s.due || !s.LeftToUser(s.member) {
		return verdict{}
	}
	return wait(s.manualRestartGate(s.member))
}

// underReplacement waits for the pod of a member that Kubernetes may replace already.
func (s *subject) underReplacement() verdict {
	m := s.member
	if s.Got.Set.Partition > m.Ordinal || !m.Up() || s.alone(m) {
		return verdict{}
	}
	return wait(Gate{Component: m.Kind, Member: m.Name, Reason: PodReplaced, Want: "pod replaced", Observed: "it has the old revision"})
}

// finished waits until a rollout has ended in all that is reported of it. What members report cannot keep back a member
// that a user has named: its restart may be what mends the report.
func (sc Scope) finished(named bool) verdict {
	if v := sc.finish(); named || !v.idle() {
		return v
	}
	return sc.asksVersion()
}

// peersDown waits for all members that do not serve. It does not wait for the member to restart
// next, which could prevent its own repair. If it waits for others, that member has a gate as well.
// Where no member is next, next has no pod, and all are waited for.
func (sc Scope) peersDown(p Profile, next state.Member) verdict {
	all := down(sc, sc.Got.Running(), nil)
	if !next.Up() && (sc.LeftToUser(next) || !sc.replaceable(p, next)) {
		return all
	}
	peers := sc.peersMissing(p, next)
	if peers.idle() || next.Up() {
		return peers
	}
	return all
}

// replace restarts a member when all conditions for its restart hold.
func (sc Scope) replace(p Profile, m state.Member) verdict {
	ready := first(beforeRestart, sc.about(p, hold{}, m))
	if !ready.idle() {
		return ready
	}
	r := sc.restart(m)
	r.Without = strings.Join(ready.notes, ", ")
	return act(r)
}

// manualRestartGate returns the gate of a pod that is replaced only when a user asks for it, because the spec
// says so or the StatefulSet was changed by hand. A restart by name has the checks of a rollout. A tidb-operator
// that drives the cluster does not know it, so the deletion of the pod is offered, too.
func (sc Scope) manualRestartGate(m state.Member) Gate {
	g := Gate{
		Component: m.Kind, Member: m.Name, Reason: ManualRestart, Want: "pod replaced", Blocked: true,
		Observed: "update strategy is OnDelete", Remedy: remedy.Remedy{
			remedy.Run("restart it as a rollout does", sc.Cluster.Plugin("restart", m.Name)),
			remedy.Run("delete its pod without the checks of a rollout", sc.Cluster.Delete("pod", m.Name)),
		},
	}
	if !sc.Want.Manual {
		g.Observed = "the StatefulSet was set to OnDelete by hand"
		g.Remedy = append(g.Remedy, remedy.Run("have all of them restarted", sc.Cluster.Kubectl("patch", "statefulset", sc.Cluster.SetName(m.Kind), "-p",
			fmt.Sprintf(`{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":%d}}}}`, sc.Got.Set.Replicas))))
	}
	return g
}

// notServingSince returns since when there is evidence that a member with a Ready pod
// does not serve. One that the database has never seen has not served since its pod was
// created.
func (sc Scope) notServingSince(m state.Member) time.Time {
	if m.Database.Presence == state.Absent {
		return sc.unchangedSince(m)
	}
	return sc.downSince(m)
}

// finish ends a rollout, but not before Kubernetes reports that it is over: with a closed partition
// Kubernetes recreates a lost pod with the revision that it counts as the current one.
func (sc Scope) finish() verdict {
	set := sc.Got.Set
	switch {
	case !set.Completed():
		return wait(Gate{Component: sc.Want.Kind, Reason: RolloutRecorded, Want: "StatefulSet status shows the finished rollout"})
	case set.Partition < set.Replicas && !set.Manual:
		return act(Close{Component: sc.Want.Kind, Basis: sc.basis(), Partition: set.Replicas})
	}
	return verdict{}
}

func (sc Scope) restart(m state.Member) Restart {
	r := Restart{Component: m.Kind, Member: m.Name, Ordinal: m.Ordinal, Basis: sc.basis(), From: sc.Got.Set.Partition}
	r.Leaderless, r.Committed = sc.unled(Profile{Kind: m.Kind}, m), sc.All.PD.Committed
	if m.Pod != nil {
		r.PodUID, r.Stuck, r.Ready = m.Pod.UID, !m.Up(), m.Pod.Ready
		r.FlushLog = sc.Want.FlushesLog && m.Up()
	}
	if sc.alone(m) {
		r.Revision = sc.Got.Set.UpdateRevision
	}
	if _, leave := sc.All.OpenEviction(m.Database.ID); leave && m.Up() && m.Database.Evicting {
		r.StoreID, r.NotUp = m.Database.ID, sc.All.StoresNotUp()
	}
	return r
}

// upload updates ConfigMaps and the pod template. With a closed partition this restarts
// no pod.
func (sc Scope) upload() verdict {
	steps := applies(sc.Want.Kind, sc.Want.Config)
	if sc.Want.Set.Drift != desired.None {
		steps = append(steps, Apply{Component: sc.Want.Kind, Object: sc.Want.Set})
	}
	return verdict{steps: steps}
}

func (sc Scope) drifted() bool { return !sc.upload().idle() }

// minReadyPassed waits until restarted pods have been Ready for as long as the user asks.
func (sc Scope) minReadyPassed() verdict {
	for _, m := range sc.Got.Running() {
		if sc.Want.MinReady == 0 || sc.Got.Outdated(m) {
			continue
		}
		ready := m.Pod.Since.Add(sc.Want.MinReady)
		if sc.All.At.Before(ready) {
			return wait(Gate{
				Component: m.Kind, Member: m.Name, Since: m.Pod.Since, Deadline: ready,
				Reason: MinReadyTime, Want: fmt.Sprintf("ready for %s", sc.Want.MinReady),
			})
		}
	}
	return verdict{}
}

// down returns a gate for each member that does not serve, except the one that is about to be
// removed: nothing is taken away while a peer is missing.
func down(sc Scope, members []state.Member, except *state.Member) verdict {
	var v verdict
	for _, m := range members {
		if m.Up() && !sc.loops(m) || except != nil && m.Ordinal == except.Ordinal {
			continue
		}
		v.gates = append(v.gates, serving(sc, m))
	}
	return v
}

func serving(sc Scope, m state.Member) Gate {
	g := Gate{Component: m.Kind, Member: m.Name, Reason: MemberServing, Want: "serving", Observed: m.Trouble()}
	switch {
	case sc.loops(m):
		return sc.crashing(m, g)
	case m.Pod == nil:
		if o, ok := sc.before(m); ok {
			g.Observed, g.held = "no pod before "+o.Name+" is ready", true
			return g
		}
		return sc.since(g, m.Gone, sc.podAdvice(m))
	case m.Pod.Ready && !m.Pod.Terminating:
		return sc.readyNotServing(m, g)
	}
	return sc.since(g, m.Pod.Since, sc.podAdvice(m))
}

// readyNotServing is the gate of a member whose pod is Ready. What the database reports
// may change within seconds, so the gate is Blocked only after this process has seen it
// for a while.
func (sc Scope) readyNotServing(m state.Member, g Gate) Gate {
	g.Source = FromDatabase
	if m.Database == (state.Database{}) && !sc.All.PD.Known() {
		g.Observed = sc.All.PD.Problem
	}
	since := sc.notServingSince(m)
	if since.IsZero() {
		since = m.NotServing
	}
	g = sc.since(g, since, sc.logs(m))
	if seen := m.NotServing.Add(settling); g.Deadline.Before(seen) {
		g.Deadline, g.Blocked = seen, !sc.All.At.Before(seen)
	}
	return g
}

// since gives a gate the time that a member may take to serve, where it is known since
// when it does not.
func (sc Scope) since(g Gate, since time.Time, help remedy.Remedy) Gate {
	g.Remedy = help
	if since.IsZero() {
		return g
	}
	g.Since, g.Deadline = since, since.Add(patience)
	g.Blocked = !sc.All.At.Before(g.Deadline)
	return g
}
