package component

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/placement"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// rulesKept does not hold if PD's placement rules leave no place for some of the store's regions.
// PD would wait for a place for ever.
var rulesKept = plan.Hook{
	Reason: plan.PlacementPossible, Want: "place for copies on other stores",
	Refuse: func(sc plan.Scope, m state.Member) string {
		if s, short := shortage(sc, m); short && !storeLeaving(m) {
			return s.String()
		}
		return ""
	},
	Help: rulesHelp,
}

// rulesRead holds when the placement rules are known. Before that no store is taken offline.
var rulesRead = plan.Hook{
	Reason: plan.PlacementRulesKnown, Want: "placement rules known",
	Done: func(sc plan.Scope, m state.Member) bool {
		return sc.All.PD.Placement.Unread == "" || storeLeaving(m)
	},
	Observed: func(sc plan.Scope, _ state.Member) string { return sc.All.PD.Placement.Unread },
	Help: func(sc plan.Scope, _ state.Member) remedy.Remedy {
		return remedy.Remedy{remedy.Run("they are read again each turn; see whether PD returns them", sc.PDCtl("config placement-rules show"))}
	},
}

// placesServe waits until stores that are Up have a place for the store's regions. A store whose data is gone is
// Disconnected in PD for half an hour. Without this wait the last store that serves in its zone could be taken offline.
var placesServe = plan.Hook{
	Reason: plan.PlacementPossible, Want: "place for copies on stores that are up",
	Because: "a store that is not Up may never come back, and PD would wait for a place for ever",
	Done: func(sc plan.Scope, m state.Member) bool {
		_, short := shortOfServing(sc, m)
		return storeLeaving(m) || surelyDown(sc, m) || !short
	},
	Observed: func(sc plan.Scope, m state.Member) string {
		s, _ := shortOfServing(sc, m)
		return "with only the stores that are Up, " + s.String()
	},
	Help: func(sc plan.Scope, m state.Member) remedy.Remedy {
		see := remedy.Remedy{remedy.Run("see which stores are not Up", sc.PDCtl("store"))}
		if s, short := shortOfServing(sc, m); short {
			return append(see, s.Help(sc.PDCtl)...)
		}
		return see
	},
}

// shortOfServing is shortage where only stores that are Up count.
func shortOfServing(sc plan.Scope, m state.Member) (placement.Shortage, bool) {
	return shortOn(sc, m, func(s state.StoreState) bool { return s == state.StoreUp })
}

func rulesHelp(sc plan.Scope, m state.Member) remedy.Remedy {
	s, short := shortage(sc, m)
	if !short {
		return nil
	}
	return s.Help(sc.PDCtl)
}

// shortage returns which placement rules PD could not keep without the member's store. Stores that
// others take offline, and those with a higher ordinal that leave as well, do not count. A store
// that is Down takes no regions. It counts only where the store that leaves does not serve either,
// as in enoughStores.
func shortage(sc plan.Scope, m state.Member) (placement.Shortage, bool) {
	return shortWithout(sc, m, m.Database.State != state.StoreUp)
}

func shortWithout(sc plan.Scope, m state.Member, countDown bool) (placement.Shortage, bool) {
	return shortOn(sc, m, func(s state.StoreState) bool { return countDown || s != state.StoreDown })
}

// shortOn is the same where stores in some states count.
func shortOn(sc plan.Scope, m state.Member, counts func(state.StoreState) bool) (placement.Shortage, bool) {
	rules := sc.All.PD.Placement
	leaves, known := rules.Store(m.Database.ID)
	if !known || m.Database.Presence != state.Present || m.Database.State == state.StoreTombstone {
		return placement.Shortage{}, false
	}
	gone := map[uint64]bool{leaves.ID: true}
	for _, o := range sc.Got.Members {
		if o.Ordinal > m.Ordinal && !sc.Kept(o) {
			gone[o.Database.ID] = true
		}
	}
	var stay []state.Store
	for _, s := range rules.Stores {
		if !gone[s.ID] && counts(s.State) && s.State != state.StoreOffline && s.State != state.StoreTombstone {
			stay = append(stay, s)
		}
	}
	return placement.Short(rules.Rules, stay, leaves)
}

// leastStores returns the lowest number of replicas to which TiKV can be scaled in. It is asked
// before anything is changed, so stores that are Down may still come back.
func leastStores(sc plan.Scope) (least int, why string, help remedy.Remedy) {
	pd := sc.All.PD
	elsewhere := max(pd.Stores-ownStores(sc), 0)
	least, why = max(pd.MaxReplicas-elsewhere, 0), fmt.Sprintf("PD keeps max-replicas=%d copies of each region", pd.MaxReplicas)
	return leastByRules(sc, least, why)
}

// leastByRules returns the lowest number of replicas, not below least, with which placement rules
// can be kept.
func leastByRules(sc plan.Scope, least int, why string) (int, string, remedy.Remedy) {
	for i := len(sc.Got.Members) - 1; i >= least; i-- {
		m := sc.Got.Members[i]
		if sc.Kept(m) {
			break
		}
		if s, short := shortWithout(sc, m, true); short {
			return i + 1, fmt.Sprintf("without %s, %s", m.Name, s), s.HelpBesides(sc.PDCtl)
		}
	}
	return least, why, nil
}
