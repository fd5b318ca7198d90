package plan

import (
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// beforeAnything must hold before a run does anything for a component. Only kubectl tidb why goes through
// this list. A run has its own places for the two: Decide itself for a pause, and the phase suspend.
var beforeAnything = []condition{
	{
		want: "cluster not paused", because: "a person has paused all changes of the cluster", by: ByPerson,
		unmet: func(s *subject) string { return textIf(s.Cluster.Paused, pausedBy(s.Cluster.Pause)) },
		since: func(s *subject) time.Time { return s.Cluster.Pause.Since },
		until: func(s *subject) time.Time { return s.Cluster.Pause.Until },
		help: func(s *subject) remedy.Remedy {
			return remedy.Remedy{remedy.Run("end the pause", s.Cluster.Plugin("resume"))}
		},
	},
	{
		want: "component not suspended", because: "a suspended component has no pods", by: ByPerson,
		unmet: func(s *subject) string {
			return textIf(s.Want.Suspend, "suspendAction.suspendStatefulSet is true in the spec")
		},
	},
}

// pausedBy says who has paused the cluster, and why.
func pausedBy(p topology.Pause) string {
	text := "it is paused, and it is not known by whom"
	if p.By != "" {
		text = "it is paused by " + p.By
	}
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text
}

// beforeComponents must hold before anything is decided for a component.
func beforeComponents(w *desired.State, s *state.Snapshot) []condition {
	return []condition{
		{want: "the TidbCluster is not being deleted", because: "nothing is made for a cluster that is deleted", by: ByPerson, waits: func(*subject) verdict { return deleting(w) }},
		{
			want: "pods controlled by StatefulSets of Kubernetes", because: "two controllers would make pods of the same names", by: ByPerson,
			waits: func(*subject) verdict { return verdict{gates: notDriven(*w, *s)} },
		},
	}
}

// deleting waits for a person where the TidbCluster is being deleted.
func deleting(w *desired.State) verdict {
	if !w.Cluster.Deleting {
		return verdict{}
	}
	return wait(Gate{
		Reason: ClusterBeingDeleted, Want: "the TidbCluster is not being deleted", Blocked: true,
		Remedy: remedy.Remedy{remedy.Say("wait until it is gone, then create it again")},
	})
}

// beforePhases must hold, in this order, before a component is changed in any way. The objects that Kubernetes makes
// pods of come first, then what is true of the members.
var beforePhases = []condition{
	{want: "StatefulSet not being deleted", because: "a new StatefulSet needs the same name", by: ByKubernetes, waits: (*subject).terminating},
	{want: "objects made", because: "Services come first, because pods look each other up by them", by: ByTool, waits: (*subject).create},
	{want: "pod template is ours", because: "a template that another user has written is put back first", by: ByTool, waits: (*subject).putBack},
	{want: "StatefulSet controller has seen the new spec", because: "until then the status is about an older spec", by: ByKubernetes, waits: (*subject).unseen},
	{want: "PD's leader reachable from here", because: "PD may serve everybody else, and would lose its quorum", by: ByPerson, waits: (*subject).leaderUnreached},
	{want: "no pod taken away by others", because: "the database counts on a member whose pod is gone", by: ByTool, waits: (*subject).restoreScaledDown},
}

// beforeTakingAway must hold in addition before a step takes a pod away. Only kubectl tidb why goes through
// this list. A run removes such steps from its decision instead, in the adjustments.
var beforeTakingAway = []condition{
	{want: "pods have what they need", because: "a pod without what it needs could not start", by: ByPerson, waits: (*subject).objectsMissing},
	{want: "no restore under way", because: "BR writes to all stores, and gives up if one stays away", by: ByTool, waits: (*subject).restored},
	{want: "no maintenance of another node", because: "that node may go down at any time", by: ByPerson, waits: (*subject).maintained},
	{want: "no other part takes members away", because: "PD or regions may have no quorum without both", by: ByTool, waits: (*subject).partIdle},
}

// changes must be idle before a rollout, in this order. While a change waits, a surplus member with which nothing is
// lost is removed. The component may wait for a member that the rollout reaches only after the surplus member.
var changes = []condition{
	obsoleteEnded,
	{want: "no member waits for new data", because: "a member that waits for new data is missing", by: ByTool, waits: (*subject).replaceLostData},
	{want: "no scale-out under way", because: "new members are there before others leave", by: ByTool, waits: (*subject).scaleOut},
	{want: "no scale-in under way", because: "a member that leaves need not be restarted", by: ByTool, waits: (*subject).scaleIn},
}

// obsoleteEnded is asked before a change, and before a repair that may take something away.
var obsoleteEnded = condition{
	want: "earlier evictions and removals ended", because: "a store that was restarted before gets its leaders back first", by: ByTool,
	waits: (*subject).cancelObsolete,
}

// isProvided is asked for before all changes. Only repairs come before it.
var isProvided = condition{
	want: "components that the component needs serve", because: "the component could not start without them", by: ByTool,
	waits: (*subject).needs,
}

// terminating waits for the end of a StatefulSet that is being deleted.
func (s *subject) terminating() verdict {
	if !s.Got.Set.Terminating {
		return verdict{}
	}
	return s.setLeaving()
}

// putBack writes the template again that another user has changed.
func (s *subject) putBack() verdict {
	if s.Want.PutBack.Drift == desired.None {
		return verdict{}
	}
	return act(step.Apply{Component: s.Want.Kind, Object: s.Want.PutBack})
}

// unseen waits until the StatefulSet controller has seen the spec.
func (s *subject) unseen() verdict {
	if s.Got.Set.Observed {
		return verdict{}
	}
	return wait(Gate{Component: s.Want.Kind, Reason: SpecObserved, Want: "StatefulSet controller has seen the new spec"})
}

func (s *subject) objectsMissing() verdict { return verdict{gates: s.missingObjects()} }

// maintained waits for the end of a maintenance that a member is not part of and would be missed in.
func (s *subject) maintained() verdict {
	all := s.UnderMaintenance()
	i := slices.IndexFunc(all, func(o facts.Maintained) bool { return !slices.Contains(o.Members, s.member.Name) })
	if i < 0 || s.member.Stopped() {
		return verdict{}
	}
	return wait(s.maintenanceGate(all[i], s.member.Name))
}

// partIdle waits until no other part of the database takes members away.
func (s *subject) partIdle() verdict {
	if s.All.PD.LockedBy == "" || s.Want.Kind.Data() == topology.None || s.RestartIsHarmless(s.member) {
		return verdict{}
	}
	return wait(s.otherPartGate(s.member.Name))
}

// isToRestart and comesNext say to kubectl tidb why what facts.Component.Candidate decides.
var (
	isToRestart = condition{
		want: "pod is to be replaced", because: "the pod has an old template, or a user has named the member", by: ByPerson,
		unmet: func(s *subject) string {
			return textIf(!s.IsToRestart(s.member), "it has the template that is wanted, and nobody has named it")
		},
	}
	comesNext = condition{
		want: "member comes next", because: "a StatefulSet replaces its pods from the highest ordinal down", by: ByTool,
		unmet: (*subject).overtaken,
	}
)
