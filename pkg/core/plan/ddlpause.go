package plan

import (
	"fmt"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// DDLPaused is the goal that DDL statements of users are paused before a TiDB server is restarted onto another version.
// A server that does not serve is restarted without the pause, because its restart may be the cure. While a rollout
// stops at a canary there is no pause either, because tables could not be changed for days.
var DDLPaused = Hook{
	Reason: DDLStatementsPaused, Want: "DDL statements paused",
	Done: func(sc Scope, m state.Member) bool { return sc.Cluster.DDLPause.Recorded || !sc.pausesDDL(m) },
	Step: func(sc Scope, m state.Member) step.Step {
		by := sc.Got.InSet()[slices.IndexFunc(sc.Got.InSet(), state.Member.Up)]
		return step.BeginDDLPause{
			Component: m.Kind, Member: m.Name, By: by.Name, PodUID: by.Pod.UID,
			From: m.Version(), To: sc.Want.Version, Revision: sc.Got.Set.UpdateRevision,
		}
	},
}

// pausesDDL reports whether the restart of a member is part of an upgrade that pauses DDL. This process must not have
// asked for the pause: TiDB may have refused it, and the upgrade goes on then. When the partition is open for the
// member, only Kubernetes is waited for. If Kubernetes did nothing, a pause would end and begin again for ever.
func (sc Scope) pausesDDL(m state.Member) bool {
	set := sc.Got.Set
	return sc.Want.PausesDDL && !sc.Want.Held && !set.Manual && m.Up() && sc.Got.Outdated(m) && (m.Ordinal < set.Partition || set.InBatches) &&
		sc.Policy.DDLAsked != set.UpdateRevision && topology.PausesDDL(m.Version(), sc.Want.Version)
}

// pausedDDL says that DDL statements of users wait, as the TidbCluster records.
func pausedDDL(c topology.Cluster) []desired.Notice {
	if !c.DDLPause.Recorded || c.Paused {
		return nil
	}
	return []desired.Notice{{Reason: event.DDLPaused, Component: topology.TiDB, Text: waiting(c.DDLPause) + ", and run again when it ends"}}
}

// BegunInTiDB returns what a run has begun in TiDB and not ended, by the record of that. In a paused cluster no process
// ends it.
func BegunInTiDB(c topology.Cluster) []desired.Notice {
	if !c.DDLPause.Recorded {
		return nil
	}
	return []desired.Notice{begun(c, topology.TiDB, "", waiting(c.DDLPause)+": the pause of the cluster keeps them from running again")}
}

// waiting says since when DDL statements wait, and for what.
func waiting(p topology.DDLPause) string {
	text := "DDL statements of users wait"
	if !p.Since.IsZero() {
		text += " since " + moment(p.Since)
	}
	text += ", for an upgrade of TiDB"
	if p.From != "" && p.To != "" {
		text += fmt.Sprintf(" from %s to %s", p.From, p.To)
	}
	return text
}

// endDDLPause ends a pause that the TidbCluster records. While no server of TiDB serves there is none to ask, and no
// DDL statement to run: the record stays until one does.
func endDDLPause(c topology.Cluster, s state.Snapshot) []step.Step {
	if !c.DDLPause.Recorded {
		return nil
	}
	for _, m := range s.Groups[topology.TiDB].InSet() {
		if m.Up() && m.Pod != nil {
			return []step.Step{step.EndDDLPause{Component: m.Kind, Member: m.Name, PodUID: m.Pod.UID}}
		}
	}
	return nil
}

// endIdleDDLPause ends a pause when no upgrade of TiDB is under way that the pause could be for. With OnDelete a person
// replaces the pods, which may be in weeks.
func endIdleDDLPause(w desired.State, s state.Snapshot) verdict {
	got := s.Groups[topology.TiDB]
	if !got.Set.Manual && got.Set.Exists && (!got.Set.Observed || slices.ContainsFunc(got.InSet(), got.Outdated)) {
		return verdict{}
	}
	return verdict{steps: endDDLPause(w.Cluster, s)}
}

// endDDLPauseWhileBlocked ends a pause while a person is needed before the upgrade goes on, which may take days.
func endDDLPauseWhileBlocked(w desired.State, s state.Snapshot, v verdict) []step.Step {
	if len(v.steps) > 0 || !allBlocked(v.gates) {
		return nil
	}
	return endDDLPause(w.Cluster, s)
}
