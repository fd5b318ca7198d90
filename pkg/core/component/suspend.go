package component

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// pdTrouble is why PD cannot be asked for anything, "" while it serves.
func pdTrouble(sc plan.Scope, _ state.Member) string {
	if sc.All.PD.Serving() {
		return ""
	}
	return pdState(sc)
}

// mute: PD does not answer, and there is nobody to wait for who would. A cluster
// that is beyond its quorum may be suspended as well; what it was not told is
// recorded, and it is told when it is back.
func mute(sc plan.Scope) bool {
	if sc.All.PD.Known() {
		return false
	}
	for _, m := range sc.All.Groups[topology.PD].Members {
		if m.Pod != nil && m.Pod.Ready && !m.Pod.Terminating && !sc.All.PD.Leaderless {
			return false
		}
	}
	return true
}

// evictionsEnded holds before the stores go, and again before PD does: PD keeps a
// scheduler over any restart, and would move leaders away from a store that has
// just come back.
var evictionsEnded = plan.Hook{
	Reason: plan.EvictionsEnded, Want: "evictions ended",
	Done:      func(sc plan.Scope, _ state.Member) bool { return len(sc.All.Evictions) == 0 || mute(sc) },
	Schedules: true,
	Step: func(sc plan.Scope, _ state.Member) plan.Step {
		if !sc.All.PD.Serving() {
			return nil
		}
		e := sc.All.Evictions[0]
		return plan.AllowLeaders{Member: e.Member, StoreID: e.StoreID}
	},
	Observed: pdTrouble,
}

// claimsKept takes back the mark of a removal that has got no further than that.
// When nothing runs any more, the marks are all that tells a member whose data
// counts from one that is gone, and PD may not have a quorum without it.
var claimsKept = plan.Hook{
	Reason: plan.ClaimsUnmarked, Want: "claims not marked as left over",
	Done: func(sc plan.Scope, m state.Member) bool {
		switch m.Database.Presence {
		case state.Absent:
			return true
		case state.Unknown:
			// Of a member that was given up PD has let go before it was marked.
			_, given := sc.Want.Failure(m.Name)
			return given || m.Ordinal >= sc.Got.Set.Replicas || !anyMarked(m)
		}
		return m.Database.State == state.StoreTombstone || !anyMarked(m)
	},
	Step: func(sc plan.Scope, m state.Member) plan.Step {
		if m.Database.Presence == state.Unknown && !mute(sc) {
			return nil
		}
		var marked []plan.Claim
		for _, c := range m.Claims {
			if c.Marked {
				marked = append(marked, plan.Claim{Name: c.Name, UID: c.UID})
			}
		}
		return plan.UnmarkClaims{Component: m.Kind, Member: m.Name, Claims: marked}
	},
	Observed: pdTrouble,
}

// removalsSettled forgets a removal that was recorded and that PD was never asked for. It
// begins anew when the component is resumed. As long as it is recorded, a person who
// takes that store offline meanwhile would be taken for us, and it would be taken back.
var removalsSettled = plan.Hook{
	Reason: plan.RemovalsForgotten, Want: "removal record deleted",
	Done: func(sc plan.Scope, m state.Member) bool {
		_, ours := sc.All.Removal(m.Database.ID)
		return !ours || m.Database.Presence != state.Present || leaving(m)
	},
	Step: func(_ plan.Scope, m state.Member) plan.Step {
		return plan.ForgetRecord{Component: m.Kind, Member: m.Name, StoreID: m.Database.ID, Record: state.RecordRemoval}
	},
}

func anyMarked(m state.Member) bool {
	for _, c := range m.Claims {
		if c.Marked {
			return true
		}
	}
	return false
}

// buriedMarked is the other side of it: a store that is a tombstone has been let
// go of, and its data must not come back.
var buriedMarked = plan.Hook{
	Reason: plan.ClaimsMarked, Want: plan.LeftoverMarked.Want,
	Done: func(sc plan.Scope, m state.Member) bool {
		return m.Database.State != state.StoreTombstone || plan.LeftoverMarked.Done(sc, m)
	},
	Step: plan.LeftoverMarked.Step,
}
