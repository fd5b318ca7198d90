package component

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// pdTrouble returns why PD does not serve, "" while it does.
func pdTrouble(sc plan.Scope, _ state.Member) string {
	if sc.All.PD.Serving() {
		return ""
	}
	return pdState(sc)
}

// pdCannotAnswer reports whether PD does not answer and none of its members is expected to. Either the members
// themselves say that PD has no leader, or their processes do not run. A cluster without a quorum may be suspended as
// well. Requests that PD could not answer are recorded, and are made when PD is back. A PD that only we cannot reach,
// or of which Kubernetes hears nothing, goes on serving, with our schedulers.
func pdCannotAnswer(sc plan.Scope) bool {
	switch pd := sc.All.PD; {
	case pd.Known() || len(pd.Unreached) > 0:
		return false
	case pd.Leaderless:
		return true
	case sc.Cluster.IsPart():
		return false // members of another part are not observed here, and only PD says what they do
	}
	for _, m := range sc.All.Groups[topology.PD].Members {
		if m.Pod != nil && !m.Pod.Terminating && !m.Stopped() {
			return false
		}
	}
	return true
}

// evictionsEnded holds before the stores are suspended, and again before PD is. PD keeps a
// scheduler over any restart, and would move leaders away from a store that has just come back.
var evictionsEnded = plan.Hook{
	Reason: plan.EvictionsEnded, Want: "evictions ended",
	Done:      func(sc plan.Scope, _ state.Member) bool { return len(sc.All.Evictions) == 0 || pdCannotAnswer(sc) },
	Schedules: true,
	Step: func(sc plan.Scope, _ state.Member) step.Step {
		if !sc.All.PD.Serving() {
			return nil
		}
		e := sc.All.Evictions[0]
		return step.AllowLeaders{Member: e.Member, StoreID: e.StoreID}
	},
	Help:     resumesFirst,
	Observed: pdTrouble,
}

// resumesFirst returns what a person can do where PD does not serve. A PD that is to be suspended gets no template with
// which it may serve.
func resumesFirst(sc plan.Scope, _ state.Member) remedy.Remedy {
	if sc.All.PD.Serving() {
		return nil
	}
	return remedy.Remedy{
		remedy.Run("see how PD is", sc.PDCtl("health")),
		remedy.Say("if PD cannot answer before it is repaired, take suspendStatefulSet out of spec.suspendAction"),
	}
}

// claimsKept takes back the mark of a removal that PD was not asked for yet. When nothing runs any
// more, only the marks distinguish a member whose data counts from a member that was removed. PD
// may have no quorum without a member whose data counts.
var claimsKept = plan.Hook{
	Reason: plan.ClaimsUnmarked, Want: "claims not marked as left over",
	Done: func(sc plan.Scope, m state.Member) bool {
		switch m.Database.Presence {
		case state.Absent:
			return true
		case state.Unknown:
			// PD has removed a member that was given up before its claims were marked.
			_, given := sc.Want.Failure(m.Name)
			return given || !sc.Got.Set.Has(m.Ordinal) || len(m.MarkedClaims()) == 0
		}
		return m.Database.Removed() || len(m.MarkedClaims()) == 0
	},
	Step: func(sc plan.Scope, m state.Member) step.Step {
		if m.Database.Presence == state.Unknown && !pdCannotAnswer(sc) {
			return nil
		}
		step := step.UnmarkClaims{Component: m.Kind, Member: m.Name, Claims: step.Identities(m.MarkedClaims())}
		if m.Pod != nil {
			step.PodUID = m.Pod.UID
		}
		return step
	},
	Help:     resumesFirst,
	Observed: pdTrouble,
}

// removalsSettled deletes the record of a removal that PD was never asked for. The removal begins
// again when the component is resumed. With the record, a store that a person takes offline during
// the suspension would look like a store that we took offline. Then it would be brought back.
var removalsSettled = plan.Hook{
	Reason: plan.RemovalsForgotten, Want: "removal record deleted",
	Done: func(sc plan.Scope, m state.Member) bool {
		_, ours := sc.All.Removal(m.Database.ID)
		return !ours || m.Database.Presence != state.Present || storeLeaving(m)
	},
	Step: func(_ plan.Scope, m state.Member) step.Step {
		return step.ForgetRecord{Component: m.Kind, Member: m.Name, StoreID: m.Database.ID, Record: state.RecordRemoval}
	},
}

// tombstoneMarked holds where claimsKept does not apply. A store that is a tombstone was removed,
// and its data must not come back.
var tombstoneMarked = plan.Hook{
	Reason: plan.ClaimsMarked, Want: plan.LeftoverMarked.Want,
	Done: func(sc plan.Scope, m state.Member) bool {
		return !m.Database.Removed() || plan.LeftoverMarked.Done(sc, m)
	},
	Step: plan.LeftoverMarked.Step,
}
