package plan

import (
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// beforeRepair must hold, in this order, before repair gives the wanted template to a member that does not serve. What
// keeps the component from being changed comes first, then what is known of the member.
var beforeRepair = []condition{
	{
		want: "no earlier component being rolled out", because: "the pods would be restarted twice", by: ByTool,
		unmet: func(s *subject) string {
			return textIf(s.queue.rolling, "a component that it needs is being rolled out")
		},
	},
	{
		want: "member is down", because: "a member that serves is restarted by the rollout", by: ByKubernetes,
		unmet: func(s *subject) string {
			return textIf(!s.DownOrNoQuorum(s.member), "no observation says that it is down")
		},
		since: (*subject).isDownSince,
	},
	{
		want: "restart due", because: "another pod of the same template would fail as well", by: ByPerson,
		unmet: func(s *subject) string {
			return textIf(!s.WaitsForRestart(s.member), "no restart would change its template")
		},
	},
	{
		want: "member comes next", because: "a StatefulSet replaces its pods from the highest ordinal down", by: ByTool,
		unmet: (*subject).overtaken,
	},
	{
		want: "restart not left to a person", because: "with OnDelete only a person restarts members", by: ByPerson,
		unmet: func(s *subject) string { return textIf(s.LeftToUser(s.member), "update strategy is OnDelete") },
	},
}

// beforeHarmfulRepair must hold besides, where the restart may take something away from the cluster. A restart that is
// not free takes the ordinary path, after cancelObsolete. A store that was restarted before must have its leaders back
// first. Otherwise more and more stores would have no leaders.
var beforeHarmfulRepair = []condition{
	{
		want: "rollouts of earlier components finished", because: "components are restarted in an order that keeps versions compatible", by: ByTool,
		unmet: func(s *subject) string { return textIf(s.queue.by != "", "rollout queued behind "+s.queue.by.Title()) },
	},
	isProvided,
	obsoleteEnded,
	{
		want: "membership known", because: "otherwise nobody knows what the cluster would lose", by: ByDatabase,
		unmet: func(s *subject) string {
			return textIf(!s.restartsInOrder(s.member), "its part in the database is not known")
		},
	},
	{
		want: "all other members serving", because: "no member is restarted while another one is missing", by: ByKubernetes,
		waits: func(s *subject) verdict { return s.awaitServing(s.PeersMissing(s.member)) },
	},
	{
		want: StoresElsewhereWanted, because: "stores of other clusters have copies of the same regions", by: ByPerson,
		waits: (*subject).storesElsewhere,
	},
}

// repair gives a member that does not serve the wanted template before anything else is done for the component. If the
// member is down because of the old template, only this helps: a wait until it is healthy would never end. Where that
// is not possible, the other phases continue.
func (d *decision) repair() verdict {
	if d.queue.rolling || !d.AnyDown() {
		return verdict{}
	}
	m, ok := d.Candidate()
	if v := d.upload(); !v.idle() || !ok {
		return v
	}
	s := d.about(m)
	switch {
	case objection(beforeRepair, s) != "" || objection(worthTrying(), s) != "":
		return verdict{}
	case d.RestartIsHarmless(m):
		return act(d.restart(m, ""))
	case objection(beforeHarmfulRepair, s) != "":
		return verdict{}
	}
	return d.replace(m)
}

// isDownSince returns since when there is evidence that the member is down, zero where there is none.
func (s *subject) isDownSince() time.Time { return s.DownSince(s.member) }

// terminates reports whether the pod of the member is being deleted.
func (s *subject) terminates() bool { return s.member.Pod != nil && s.member.Pod.Terminating }

// overtaken returns which member is restarted before this one, "" when this one comes next.
func (s *subject) overtaken() string {
	next, ok := s.Candidate()
	return textIf(ok && next.Ordinal != s.member.Ordinal, next.Name+" comes first")
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
func (d *decision) repairable(gates []Gate) verdict {
	m, ok := d.Candidate()
	if d.queue.rolling || d.LeftToUser(m) || !allBlocked(gates) {
		return verdict{}
	}
	if !ok || !d.DownOrNoQuorum(m) || !d.mayHelp(m) {
		return verdict{}
	}
	due := d.FreeAt(m)
	if !d.All.At.Before(due) {
		return verdict{}
	}
	return wait(d.untilDeadline(m, "is restarted", d.Reported(m).Both, due))
}

// worthTrying must hold of a member that is down, so that the update revision may help the member. The member might
// also recover by itself. If another member has the update revision and does not serve, a restart could turn a crash of
// a minute into a lasting loss. So the condition that asks for evidence comes last.
func worthTrying() []condition {
	return []condition{
		{
			want: "no canary holds the member", because: "a person decides when the member gets the new template", by: ByPerson,
			unmet: func(s *subject) string { return textIf(s.IsBeyondCanary(s.member), "the canary is not promoted") },
		},
		{
			want: "pod not being deleted", because: "the next pod of the member has the new template anyway", by: ByKubernetes,
			unmet: func(s *subject) string {
				return textIf(s.terminates(), "its pod is being deleted")
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
				return textIf(s.member.DataBeingDeleted(), "a claim with its data is being deleted")
			},
		},
		{
			want: "no other cure next", because: "new data or the removal of the member needs no restart before", by: ByTool,
			unmet: func(s *subject) string {
				return textIf(s.mayBeRenewedOrRemoved(s.member), "it gets new data, or is removed, next")
			},
		},
		{
			want: "member not removed from PD", because: "with any template the pod would end again", by: ByTool,
			unmet: func(s *subject) string { return textIf(s.failsAnyway(), "PD has removed it") },
		},
		{
			want: "wanted template may help", because: "where others fail with it, a crash of a minute would become a lasting loss", by: ByKubernetes,
			unmet: (*subject).helpless,
		},
	}
}

// mayHelp reports whether the update revision is worth a try for a member that is down.
func (d *decision) mayHelp(m state.Member) bool {
	return objection(worthTrying(), d.about(m)) == ""
}

// failsAnyway reports whether PD has removed the member, so that the member fails with any template.
func (s *subject) failsAnyway() bool {
	m := s.member
	return s.RemovedFromPD(m) && !s.blocksRollout(m) && !s.RunsUnlisted(m)
}

// helpless returns why the update revision can hardly help the member, "" when it may.
func (s *subject) helpless() string {
	m := s.member
	failing := s.Failing(m)
	if s.UpdateRevisionServes() || s.mayNeedNewVolumes() {
		failing = nil
	}
	switch {
	case s.Want.Kind.Data() != topology.Raft || m.Database.Presence != state.Unknown:
		return textIf(len(failing) > 0 && !s.CannotServe(m), "with the new template others do not serve")
	case len(failing) == 0 && (m.Pod == nil || !m.Pod.Ready):
		return ""
	}
	return s.deadlocked(failing)
}

// mayNeedNewVolumes reports whether new volumes may be all that the member needs. The member has to have been down for
// long, because a process that has crashed once comes back by itself.
func (s *subject) mayNeedNewVolumes() bool {
	down := s.DownSince(s.member)
	return s.RestartsWithNewVolumes(s.member) && !down.IsZero() && s.All.At.Sub(down) >= facts.TimeToServe
}

// mayBeRenewedOrRemoved reports whether nothing keeps a member from getting new data, or from
// being removed.
func (d *decision) mayBeRenewedOrRemoved(m state.Member) bool {
	return d.renewable(m) || m.RemovalIrreversible() && turn(d.Surplus(), m) == 0
}

// deadlocked returns why voters that do not serve may still have a quorum, or get one by themselves. It returns ""
// where nothing suggests that. Then no voter serves, whatever its revision. An election takes seconds, and a process
// recovers from a crash in minutes or not at all. It is enough evidence that members of the update revision run, and
// after a long time that they have run. Without a quorum a new voter cannot keep running. A PD that only cannot be
// asked may have a quorum: then only a member whose process does not run is free.
func (s *subject) deadlocked(failing []state.Member) string {
	wait := facts.Settling
	for _, c := range failing {
		switch {
		case c.Pod == nil || !c.Pod.Ran:
			return c.Name + " has yet to start with the new template"
		case c.Pod.Started.IsZero():
			wait = facts.TimeToServe
		case s.All.At.Sub(c.Pod.Started) < facts.Proving:
			return c.Name + " has just started with the new template"
		}
	}
	for _, m := range s.Got.InSet() {
		if m.Pod == nil || m.Pod.Revision != s.Got.Set.CurrentRevision || !s.Got.Outdated(m) {
			continue // it has never served with its revision
		}
		if s.All.At.Sub(s.IdleSince(m)) < wait {
			return m.Name + " may have served a moment ago"
		}
	}
	return ""
}

// restartsInOrder reports whether a member may be restarted in the ordinary order: after its peers
// serve, and after its leaders have moved. The member itself need not serve. Otherwise a template
// that breaks a status port could never be taken back.
func (d *decision) restartsInOrder(m state.Member) bool {
	switch {
	case m.Up():
		return true
	case m.Pod == nil || m.Pod.Terminating || m.Database.State == state.StoreOffline:
		return false
	case m.Database.Presence == state.Unknown && d.Want.Kind.Data() != topology.None:
		return false // it is not known what the cluster would lose
	}
	return d.mayHelp(m)
}

// blocksRollout reports whether a partition reaches another member, which needs the update
// revision, only after this one. A member that cannot serve loses nothing by a restart.
// Without this rule the two would wait for each other: this one gets new data only when
// all others serve.
func (d *decision) blocksRollout(m state.Member) bool {
	return slices.ContainsFunc(d.Got.InSet(), func(o state.Member) bool {
		return o.Ordinal < m.Ordinal && d.Got.Outdated(o) && d.DownOrNoQuorum(o) && d.mayHelp(o)
	})
}
