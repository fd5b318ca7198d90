package component

import (
	"fmt"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/scheduling"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// The measure of balance is how many regions a store has, compared with the store beside it that has the fewest.
//
// What the store had before says little: a spare store or a larger volume takes a part of it. PD's own measure, the score
// of a store, is no measure of how far a store is from balance. On small disks the free space is nearly all of the score,
// so that an empty store has almost the score of a full one. An average is never reached by a store in a zone of many
// stores, where PD keeps one copy in each zone. PD gives a store regions as long as the store has fewer than the others,
// by more than PD tolerates. So a store that PD balances always comes near to the store with the fewest.

// regionsBalanced holds where a store has about as many regions as the store beside it that has the fewest.
var regionsBalanced = plan.Hook{
	Reason: plan.RegionsBalanced, Want: "its share of regions on the new store",
	Because: "the user asks that PD balances regions before the next store is replaced",
	Refuse: func(sc plan.Scope, m state.Member) string {
		if cause, stays := scheduling.Balance(sc.All.PD, m.Store()); stays && !cause.Passes && lacking(sc, m) > 0 {
			return shareObserved(sc, m)
		}
		return ""
	},
	Done:     func(sc plan.Scope, m state.Member) bool { return lacking(sc, m) == 0 },
	Observed: shareObserved,
	Left: func(sc plan.Scope, m state.Member) plan.Quantity {
		return plan.Quantity{Number: int64(lacking(sc, m)), Unit: plan.Regions}
	},
	Patience: plan.Moving,
	Help: func(sc plan.Scope, m state.Member) remedy.Remedy {
		cause, stays := scheduling.Balance(sc.All.PD, m.Store())
		if !stays {
			return remedy.Remedy{remedy.Run("see the regions and the scores of all stores", sc.PDCtl("store"))}
		}
		return cause.Help(sc.PDCtl)
	},
}

// shareObserved says how many regions a store has and how many it is to have, and what keeps PD from that.
func shareObserved(sc plan.Scope, m state.Member) string {
	least, beside := share(sc, m)
	text := fmt.Sprintf("%s, and %d are its share beside %s", remedy.Count(m.Database.Regions, "region", "regions"), least, beside)
	if cause, stays := scheduling.Balance(sc.All.PD, m.Store()); stays {
		text += "; " + cause.Text
	}
	return text
}

// lacking returns how many regions a store lacks to its share. It is 0 where that is not known, and where a store is to
// have no regions.
func lacking(sc plan.Scope, m state.Member) int {
	if m.Database.Regions < 0 || m.Database.NoRegions {
		return 0
	}
	least, _ := share(sc, m)
	return max(least-m.Database.Regions, 0)
}

const (
	// toleratedShare and toleratedRegions are by how much a store may have fewer regions than the others, whichever is
	// more. PD itself balances to 1 % of the regions of the largest store, or to two regions of average size. Regions are
	// not of the same size.
	toleratedShare   = 10 // percent
	toleratedRegions = 5
)

// share returns how many regions a store has to have so that it counts as balanced. It also returns the name of the store
// that this was taken from. A store that is smaller, or has a lower weight, has to have fewer regions. A store that is
// larger need not have more, because free space decides how many PD adds.
func share(sc plan.Scope, m state.Member) (least int, beside string) {
	least = -1
	for _, o := range storesBeside(sc, m) {
		has := float64(o.Database.Regions) * weightOf(m) / weightOf(o)
		if own, other := m.Database.Capacity, o.Database.Capacity; own > 0 && own < other {
			has *= float64(own) / float64(other)
		}
		if least < 0 || int(has) < least {
			least, beside = int(has), o.Name
		}
	}
	tolerated := max(least*toleratedShare/100, toleratedRegions, 2*sc.All.PD.Scheduling.Tolerance)
	return max(least-tolerated, 0), beside
}

func weightOf(m state.Member) float64 {
	if m.Database.RegionWeight > 0 {
		return m.Database.RegionWeight
	}
	return 1
}

// storesBeside returns the stores that a store is compared with. They are in the same place by the widest location label.
// PD moves regions within one place, whatever the rules about places are. A store that leaves at the end, as a spare
// store does, is compared with only where no other store is in the same place. Without a store in the same place, all
// that stay count. A store that is to have no regions is no measure.
func storesBeside(sc plan.Scope, m state.Member) []state.Member {
	var stay, leave []state.Member
	for _, o := range sc.Got.InSet() {
		known := o.Up() && o.Database.State == state.StoreUp && o.Database.Regions >= 0
		switch {
		case o.Ordinal == m.Ordinal || !known || o.Database.NoRegions:
		case sc.Want.InSpec(o.Ordinal):
			stay = append(stay, o)
		default:
			leave = append(leave, o)
		}
	}
	labels := sc.All.PD.LocationLabels
	if len(labels) == 0 {
		return stay
	}
	elsewhere := func(o state.Member) bool { return o.StoreLabels[labels[0]] != m.StoreLabels[labels[0]] }
	for _, all := range [][]state.Member{stay, leave} {
		if near := slices.DeleteFunc(slices.Clone(all), elsewhere); len(near) > 0 {
			return near
		}
	}
	return stay
}
