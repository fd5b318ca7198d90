package component

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/scheduling"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// onRestartTimeout is onEvictTimeout for a store that is to be restarted. Where PD itself shows that it evicts no
// leaders, a time that is over says nothing. The store would restart with all of its leaders. That happens only if a
// person asks for it.
func onRestartTimeout(sc plan.Scope) plan.Lapse {
	if _, stalls := scheduling.Leaders(*sc.All, movesLimited(sc)); stalls && onEvictTimeout(sc) == plan.Default {
		return plan.Fail
	}
	return onEvictTimeout(sc)
}

// nothingToEvict reports whether a store may be restarted, for all that its leaders mean.
func nothingToEvict(_ plan.Scope, m state.Member) bool {
	return m.Stopped() || storeLeaving(m) || drained(m)
}

// stalled returns what keeps PD from evicting the leaders of a store. The cause is empty where nothing does, and where
// the store has no leaders.
func stalled(sc plan.Scope, m state.Member) scheduling.Cause {
	cause, stalls := scheduling.Leaders(*sc.All, movesLimited(sc))
	if !stalls || m.Database.Leaders == 0 || nothingToEvict(sc, m) || leadersBound(sc, m) != "" {
		return scheduling.Cause{}
	}
	return cause
}

// movesLimited reports whether this run sets how many leaders PD moves at a time. That comes before PD's own limit.
func movesLimited(sc plan.Scope) bool { return sc.Policy.Eviction.MaxMoves > 0 }

// leadersKept reports, with the reason, that only a person can have PD evict leaders. No scheduler is made then, and no
// time is lost. A person who has asked to go on, or to wait, is not refused.
func leadersKept(sc plan.Scope, m state.Member) string {
	cause := stalled(sc, m)
	if lapse := onEvictTimeout(sc); cause.Passes || lapse == plan.Proceed || lapse == plan.Persist {
		return ""
	}
	return cause.Text
}

// evictOnce is evict, but an eviction does not begin while a cause that passes keeps some leaders on the store.
// Otherwise the store would have few leaders for as long as an import takes.
func evictOnce(sc plan.Scope, m state.Member) step.Step {
	if cause := stalled(sc, m); cause.Passes && !m.Database.Evicting && onEvictTimeout(sc) != plan.Proceed {
		return nil
	}
	return evict(sc, m)
}

// evictionObserved adds to the number of leaders what keeps them there.
func evictionObserved(sc plan.Scope, m state.Member) string {
	if cause := stalled(sc, m); cause.Text != "" {
		return leadersObserved(sc, m) + "; " + cause.Text
	}
	return leadersObserved(sc, m)
}

// regionsMayMove holds before a store is taken offline: PD accepts that also where it will move none of its regions.
var regionsMayMove = plan.Hook{
	Reason: plan.RegionsMoved, Want: "PD moves regions",
	Refuse: func(sc plan.Scope, m state.Member) string {
		if cause, stays := regionsStay(sc, m); stays && !storeLeaving(m) && m.Database.Regions > 0 {
			return cause.Text
		}
		return ""
	},
	Help: func(sc plan.Scope, m state.Member) remedy.Remedy {
		cause, _ := regionsStay(sc, m)
		return slices.Concat(cause.Help(sc.PDCtl), plan.MakeRoom(sc, m), callOff(sc, m))
	},
}

// regionsStay returns what keeps PD from moving the regions of a store to others.
func regionsStay(sc plan.Scope, m state.Member) (scheduling.Cause, bool) {
	return scheduling.Regions(sc.All.PD, m.Database.ID, sc.All.PD.Placement.Stores)
}
