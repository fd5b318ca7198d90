package plan

import (
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// beforeRepair must hold, in this order, before repair gives the wanted template to a member that does not serve. What
// keeps the component from being changed comes first, then what is known of the member.
var beforeRepair = []condition{
	{
		want: "no earlier component being rolled out", because: "the pods would be restarted twice", by: ByTool,
		unmet: func(s *subject) string {
			return unless(s.hold.rolling, "a component that it needs is being rolled out")
		},
	},
	{
		want: "member is down", because: "a member that serves is restarted by the rollout", by: ByKubernetes,
		unmet: func(s *subject) string {
			return unless(!s.downOrNoQuorum(s.profile, s.member), "no observation says that it is down")
		},
		since: (*subject).isDownSince,
	},
	{
		want: "wanted template not tried yet", because: "another pod of the same template would fail as well", by: ByPerson,
		unmet: func(s *subject) string {
			return unless(!s.waitsForRestart(s.member), "no restart would change its template")
		},
	},
	{
		want: "member comes next", because: "a StatefulSet replaces its pods from the highest ordinal down", by: ByTool,
		unmet: (*subject).overtaken,
	},
	{
		want: "restart not left to a person", because: "with OnDelete only a person restarts members", by: ByPerson,
		unmet: func(s *subject) string { return unless(s.LeftToUser(s.member), "update strategy is OnDelete") },
	},
}

// beforeHarmfulRepair must hold besides, where the restart may take something away from the cluster. A restart that is
// not free takes the ordinary path, after cancelObsolete. A store that was restarted before must have its leaders back
// first. Otherwise more and more stores would have no leaders.
var beforeHarmfulRepair = []condition{
	{
		want: "rollouts of earlier components finished", because: "components are restarted in an order that keeps versions compatible", by: ByTool,
		unmet: func(s *subject) string { return unless(s.hold.by != "", "rollout queued behind "+s.hold.by.Title()) },
	},
	isProvided,
	obsoleteEnded,
	{
		want: "membership known", because: "otherwise nobody knows what the cluster would lose", by: ByDatabase,
		unmet: func(s *subject) string {
			return unless(!s.restartsInOrder(s.profile, s.member), "its part in the database is not known")
		},
	},
	{
		want: "all other members serving", because: "no member is restarted while another one is missing", by: ByKubernetes,
		waits: func(s *subject) verdict { return s.peersMissing(s.profile, s.member) },
	},
	{
		want: StoresElsewhereWanted, because: "stores of other clusters have copies of the same regions", by: ByPerson,
		waits: func(s *subject) verdict { return s.storesElsewhere(s.profile) },
	},
}

// repair gives a member that does not serve the wanted template before anything else is done for the component. If the
// member is down because of the old template, only this helps: a wait until it is healthy would never end. Where that
// is not possible, the other phases continue.
func (sc Scope) repair(p Profile, h hold) verdict {
	if h.rolling || !sc.anyDown(p) {
		return verdict{}
	}
	m, ok := sc.candidate()
	if v := sc.upload(); !v.idle() || !ok {
		return v
	}
	s := sc.about(p, h, m)
	switch {
	case objection(beforeRepair, s) != "" || objection(worthTrying(), s) != "":
		return verdict{}
	case sc.restartIsHarmless(p, m):
		return act(sc.restart(m))
	case objection(beforeHarmfulRepair, s) != "":
		return verdict{}
	}
	return sc.replace(p, m)
}

// isDownSince returns since when there is evidence that the member is down, zero where there is none.
func (s *subject) isDownSince() time.Time { return s.downSince(s.member) }

// terminates reports whether the pod of the member is being deleted.
func (s *subject) terminates() bool { return s.member.Pod != nil && s.member.Pod.Terminating }

// overtaken returns which member is restarted before this one, "" when this one comes next.
func (s *subject) overtaken() string {
	next, ok := s.candidate()
	return unless(ok && next.Ordinal != s.member.Ordinal, next.Name+" comes first")
}

// text returns what a verdict does or waits for first, "" for the empty verdict.
func (v verdict) text() string {
	switch {
	case len(v.gates) > 0:
		return v.gates[0].String()
	case len(v.steps) > 0:
		return "first: " + v.steps[0].String()
	}
	return ""
}

// repairable waits for the evidence that lets repair restart a member. It does so where nothing
// else can be done before a person does something. Part of the evidence only this process has
// observed: a run that ended at once would never observe it for long enough.
func (sc Scope) repairable(p Profile, h hold, gates []Gate) verdict {
	m, ok := sc.candidate()
	if h.rolling || sc.LeftToUser(m) || !allBlocked(gates) {
		return verdict{}
	}
	if !ok || !sc.downOrNoQuorum(p, m) || !sc.mayHelp(p, m) {
		return verdict{}
	}
	due := sc.freeAt(p, m)
	if !sc.All.At.Before(due) {
		return verdict{}
	}
	return wait(sc.untilDeadline(m, "is restarted", sc.reported(m).both, due))
}

// worthTrying must hold of a member that is down, so that the update revision may help the member. The member might
// also recover by itself. If another member has the update revision and does not serve, a restart could turn a crash of
// a minute into a lasting loss. So the condition that asks for evidence comes last.
func worthTrying() []condition {
	return []condition{
		{
			want: "no canary holds the member", because: "a person decides when the member gets the new template", by: ByPerson,
			unmet: func(s *subject) string { return unless(s.isBeyondCanary(s.member), "the canary is not promoted") },
		},
		{
			want: "pod not being deleted", because: "the next pod of the member has the new template anyway", by: ByKubernetes,
			unmet: func(s *subject) string {
				return unless(s.terminates(), "its pod is being deleted")
			},
			since: func(s *subject) time.Time {
				if s.terminates() {
					return s.member.Pod.Since
				}
				return time.Time{}
			},
		},
		{
			want: "data not being deleted", because: "the claim would be deleted with the pod", by: ByPerson,
			unmet: func(s *subject) string {
				return unless(dataBeingDeleted(s.profile, s.member), "a claim with its data is being deleted")
			},
		},
		{
			want: "no other cure next", because: "new data or the removal of the member needs no restart before", by: ByTool,
			unmet: func(s *subject) string {
				return unless(s.mayBeRenewedOrRemoved(s.profile, s.member), "it gets new data, or is removed, next")
			},
		},
		{
			want: "member not removed from PD", because: "with any template the pod would end again", by: ByTool,
			unmet: func(s *subject) string { return unless(s.failsAnyway(), "PD has removed it") },
		},
		{
			want: "wanted template may help", because: "where others fail with it, a crash of a minute would become a lasting loss", by: ByKubernetes,
			unmet: (*subject).helpless,
		},
	}
}

// mayHelp reports whether the update revision is worth a try for a member that is down.
func (sc Scope) mayHelp(p Profile, m state.Member) bool {
	return objection(worthTrying(), sc.about(p, hold{}, m)) == ""
}

// failsAnyway reports whether PD has removed the member, so that the member fails with any template.
func (s *subject) failsAnyway() bool {
	p, m := s.profile, s.member
	return s.removedFromPD(p, m) && !s.blocksRollout(p, m) && !s.runsUnlisted(m)
}

// helpless returns why the update revision can hardly help the member, "" when it may.
func (s *subject) helpless() string {
	m := s.member
	failing := s.failing(m)
	if s.updateRevisionServes() {
		failing = nil
	}
	switch {
	case s.profile.Kind.Data() != topology.Raft || m.Database.Presence != state.Unknown:
		return unless(len(failing) > 0 && !s.cannotServe(m), "with the new template others do not serve")
	case len(failing) == 0 && (m.Pod == nil || !m.Pod.Ready):
		return ""
	}
	return s.deadlocked(failing)
}

// cannotServe reports whether a member with an old revision cannot be expected to serve as it is. A
// restart takes nothing away then, even if others fail with the update revision, perhaps for
// reasons of their own. Either its container is Ready and refuses connections, for long by PD's
// report. Or its pod has a revision that Kubernetes would not create again, and its container has
// long not run, or long crashed again and again.
func (sc Scope) cannotServe(m state.Member) bool {
	switch {
	case m.Pod == nil:
		return false
	case m.Pod.Ready:
		return sc.downForLong(m)
	}
	return m.Pod.Revision != sc.Got.Set.CurrentRevision &&
		m.Stopped() && (!m.Pod.Ran || sc.loops(m)) && sc.All.At.Sub(sc.unchangedSince(m)) >= TimeToServe
}

// mayBeRenewedOrRemoved reports whether nothing keeps a member from getting new data, or from
// being removed.
func (sc Scope) mayBeRenewedOrRemoved(p Profile, m state.Member) bool {
	top := m.Ordinal == sc.Got.Set.Replicas-1
	return sc.renewable(p, m) || removalIrreversible(m) && top && (!sc.Kept(m) || sc.storeForgotten(p, m))
}

// updateRevisionServes reports whether a member has served with the update revision for a while. Then other members
// fail with the update revision for another reason. PD, for example, lets no member join while an added member has yet
// to start.
func (sc Scope) updateRevisionServes() bool {
	for _, m := range sc.Got.BelowReplicas() {
		if !sc.Got.Outdated(m) && m.Up() && !sc.loops(m) &&
			!m.Pod.Started.IsZero() && sc.All.At.Sub(m.Pod.Started) >= settling {
			return true
		}
	}
	return false
}

// failing returns the members, except one, that have the update revision and do not serve. A member that a user has
// named is among them, because nobody knows yet whether the restart helps.
func (sc Scope) failing(except state.Member) []state.Member {
	var failing []state.Member
	for _, m := range sc.Got.BelowReplicas() {
		removed := removalIrreversible(m) && m.Pod != nil && m.Pod.Ran // it fails for another reason
		_, queued := sc.memberBefore(m)
		if m.Ordinal != except.Ordinal && !sc.Got.Outdated(m) && (!m.Up() || sc.loops(m)) && !removed && !queued {
			failing = append(failing, m)
		}
	}
	return failing
}

// deadlocked returns why voters that do not serve may still have a quorum, or get one by themselves. It returns ""
// where nothing suggests that. Then no voter serves, whatever its revision. An election takes seconds, and a process
// recovers from a crash in minutes or not at all. It is enough evidence that members of the update revision run, and
// after a long time that they have run. Without a quorum a new voter cannot keep running. A PD that only cannot be
// asked may have a quorum: then only a member whose process does not run is free.
func (sc Scope) deadlocked(failing []state.Member) string {
	wait := settling
	for _, c := range failing {
		switch {
		case c.Pod == nil || !c.Pod.Ran:
			return c.Name + " has yet to start with the new template"
		case c.Pod.Started.IsZero():
			wait = TimeToServe
		case sc.All.At.Sub(c.Pod.Started) < proving:
			return c.Name + " has just started with the new template"
		}
	}
	for _, m := range sc.Got.BelowReplicas() {
		if m.Pod == nil || m.Pod.Revision != sc.Got.Set.CurrentRevision || !sc.Got.Outdated(m) {
			continue // it has never served with its revision
		}
		if sc.All.At.Sub(sc.idleSince(m)) < wait {
			return m.Name + " may have served a moment ago"
		}
	}
	return ""
}

// idleSince returns since when a voter can hardly have served. A voter that crashes again and again
// may serve in between if it runs for long enough. A restart with a revision that fails elsewhere
// would end that for good.
func (sc Scope) idleSince(m state.Member) time.Time {
	if p := m.Pod; p.Last.Ended.Sub(p.Last.Started) > proving {
		return later(p.Started, p.Since)
	}
	return sc.unchangedSince(m)
}
