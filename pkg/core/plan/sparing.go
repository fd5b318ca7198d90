package plan

import (
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// beforeFailover must hold of a member before it can be given up, in this order.
var beforeFailover = []condition{
	{
		want: "member is wanted", because: "a member that leaves gets no replacement", by: ByPerson,
		unmet: func(s *subject) string {
			return textIf(!s.Kept(s.member), fmt.Sprintf("%d members are wanted", s.Want.Size()))
		},
	},
	{
		want: "member does not serve", because: "a member that serves is not lost", by: ByKubernetes,
		unmet: func(s *subject) string { return textIf(s.member.Up(), "it serves") },
		since: (*subject).isDownSince,
	},
	{
		want: "member not given up yet", because: "each member is given up once", by: ByTool,
		unmet: func(s *subject) string { return textIf(s.lost.Record != nil, "its failover is recorded") },
		since: func(s *subject) time.Time {
			if s.lost.Record == nil {
				return time.Time{}
			}
			return s.lost.Record.Created
		},
	},
	{
		want: "the run may give members up", because: "a failover costs data that is to be copied, so that a person asks for it", by: ByPerson,
		unmet: func(s *subject) string {
			return textIf(!s.Policy.Failover.covers(s.Want.Kind), "only a run that is asked for a failover gives members up")
		},
		help: func(s *subject) remedy.Remedy {
			return remedy.Remedy{remedy.Run("have members given up that are lost", s.Cluster.Plugin("failover", "run"))}
		},
	},
}

// sparing has the conditions for giving up a member that does not serve, in their order. First comes what the user
// allows, then other reasons why the member may be down, and last the evidence that the member is down. A voter that PD
// has removed gets new data whatever the user allows, because nothing else helps it.
var sparing = []condition{
	{
		want: "failover switched on", because: "spec.maxFailoverCount allows that", by: ByPerson,
		unmet: func(s *subject) string {
			return textIf(s.profile.Failover == nil || s.Want.MaxFailures == 0, "failover is switched off: maxFailoverCount is 0")
		},
	},
	{
		want: "member is no replacement", because: "replacements would be replaced for ever", by: ByPerson,
		unmet: func(s *subject) string {
			return textIf(!s.Want.InSpec(s.member.Ordinal) && !s.RemovedFromPD(s.member), "it replaces another member, and gets no replacement itself")
		},
	},
	{
		want: "failovers left", because: "spec.maxFailoverCount limits failovers", by: ByPerson,
		unmet: func(s *subject) string {
			return textIf(s.FailoversUsedUp() && !s.RemovedFromPD(s.member), fmt.Sprintf("%d of %d failovers are used up", len(s.Want.Failures), s.Want.MaxFailures))
		},
	},
	{
		want: "member known to be down", because: "a member that cannot be asked may serve", by: ByDatabase,
		unmet: func(s *subject) string { return textIf(!s.member.IsDown(), "it is not known whether it serves") },
	},
	{
		want: "its own port does not answer", because: "a process that answers may serve", by: ByDatabase,
		unmet: func(s *subject) string {
			return textIf(s.member.Database.Answer == state.Answered, "its own port answers")
		},
	},
	{
		want: "pod has not ended", because: "a new pod with the same data may serve", by: ByTool,
		unmet: func(s *subject) string {
			return textIf(s.replacesEnded(s.member), "its pod has ended, and is recreated first")
		},
	},
	{
		want: "pod waits for no other pod", because: "with OrderedReady Kubernetes makes pods one after another", by: ByKubernetes,
		unmet: func(s *subject) string {
			before, queued := s.MemberBefore(s.member)
			return textIf(queued, "Kubernetes makes its pod after "+before.Name)
		},
	},
	{
		want: "member not being removed", because: "the removal of the member goes on", by: ByTool,
		unmet: func(s *subject) string { return textIf(s.member.RemovalIrreversible(), "it is being removed") },
		since: func(s *subject) time.Time {
			r, _ := s.All.Removal(s.member.Database.ID)
			return r.Since
		},
	},
	{
		want: "no rollout explains it", because: "more pods of a template that fails would fail as well", by: ByTool,
		unmet: func(s *subject) string {
			if s.RemovedFromPD(s.member) {
				return ""
			}
			return s.inRollout()
		},
	},
	{
		want: "the database has lost the member", because: "each component reports in its own way that a member serves", by: ByDatabase,
		unmet: func(s *subject) string {
			if s.profile.Failover == nil {
				return ""
			}
			return s.profile.Failover.Spare(s.Scope, s.member, s.Policy.Failover.Now)
		},
		since: func(s *subject) time.Time { return s.member.Database.Since },
	},
	{
		want: "Kubernetes and the database agree", because: "one report may be wrong or old", by: ByDatabase,
		unmet: func(s *subject) string {
			return textIf(s.lost.Since.IsZero(), "only one of Kubernetes and the database says that it is down")
		},
		since: func(s *subject) time.Time { return s.lost.Since },
	},
}

// downLongEnough is asked last: how long the member has to be down is up to its component.
var downLongEnough = condition{
	want: "down for long enough", because: "the member may come back by itself", by: ByKubernetes,
	waits: func(s *subject) verdict {
		if due := s.lost.due(s.Policy.Failover); due.IsZero() || !s.All.At.Before(due) {
			return verdict{}
		}
		return wait(s.notDue(s.lost))
	},
}

// notDue returns the gate of a member that is given up at a later time.
func (sc Scope) notDue(c LostMember) Gate {
	return sc.untilDeadline(c.Member, "is given up", c.Since, c.due(sc.Policy.Failover))
}
