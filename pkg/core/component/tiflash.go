package component

import (
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TiFlash's members hold copies of tables, in columns. A member does not vote and does not lead, so
// nothing has to leave a member before its restart. Before a member is removed, its copies must
// have another place, because a table may ask for as many copies as there are stores.
func TiFlash() plan.Profile {
	return plan.Profile{
		Kind:     topology.TiFlash,
		Needs:    []plan.Need{pdServes, pdUpgraded, tsoServes, tikvJoined, rulesEnabled},
		Floor:    leastForTables,
		Standing: []plan.Hook{storeRestored},
		BeforeRemove: []plan.Hook{
			notJoining, newStoresHeard, pdLetsGo, stateKnown, rulesRead, rulesKept, placesServe, regionsMayMove, storeOffline, copiesMoved, plan.LeftoverMarked,
		},
		BeforeRenew:   []plan.Hook{plan.LeftoverMarked},
		BeforeNext:    []plan.Hook{regionsBalanced},
		BeforeSuspend: []plan.Hook{tombstoneMarked, claimsKept, removalsSettled},
		Abandoned:     &copiesOfflineByOthers,
		Failover: &plan.Failover{
			Period:             func(sc plan.Scope) time.Duration { return sc.All.PD.MaxStoreDown + failoverPeriod },
			Spare:              spareStore,
			RemoveFromDatabase: []plan.Hook{newStoresHeard, pdLetsGo, stateKnown, rulesRead, rulesKept, placesServe, regionsMayMove, storeOffline, copiesMoved},
			Keeps:              true,
		},
	}
}

// tikvJoined is what TiFlash needs of TiKV. It does not need TiKV to serve now: TiKV itself may wait
// for TiFlash, whose pods are replaced before its own.
var tikvJoined = plan.Need{
	Reason: plan.TiKVServing, Want: "a TiKV store joined",
	Holds:    func(sc plan.Scope) bool { return sc.All.PD.Bootstrapped },
	Observed: func(plan.Scope) string { return "PD is not bootstrapped" },
}

// rulesEnabled is what TiFlash needs of PD's settings: without placement rules PD refuses its stores. PD has placement
// rules enabled unless it once was of a version before v5.0, or somebody has disabled them. A PD that is not
// bootstrapped refuses to enable placement rules.
var rulesEnabled = plan.Need{
	Reason: plan.PlacementRulesEnabled, Want: "placement rules enabled in PD",
	Holds: func(sc plan.Scope) bool {
		pd := sc.All.PD
		return !pd.RulesDisabled || !pd.Serving() || !pd.Bootstrapped || sc.Want.Size() == 0
	},
	Refuse: func(sc plan.Scope) string {
		if sc.All.RulesEnabled.IsZero() {
			return ""
		}
		return "they were enabled for TiFlash, and disabled since; no TiFlash store can join"
	},
	Step:     func(sc plan.Scope) step.Step { return step.EnableRules{Component: sc.Want.Kind} },
	Observed: func(plan.Scope) string { return "no TiFlash store can join" },
	Help: func(sc plan.Scope) remedy.Remedy {
		return remedy.Remedy{remedy.Run("enable them", sc.PDCtl("config set enable-placement-rules true"))}
	},
}

// pdLetsGo holds where PD does not refuse to take a store offline. PD asks for as many other
// stores, of whatever component, as there are copies of each region.
var pdLetsGo = plan.Hook{
	Reason: plan.EnoughStores, Want: "PD lets the store go",
	Because: "PD takes no store offline while it has fewer others than copies of each region",
	Refuse: func(sc plan.Scope, m state.Member) string {
		if storeLeaving(m) {
			return ""
		}
		others, read := 0, len(sc.All.PD.Placement.Stores) > 0
		for _, o := range sc.All.PD.Placement.Stores {
			if o.ID != m.Database.ID && o.State != state.StoreOffline && o.State != state.StoreTombstone {
				others++
			}
		}
		if least := sc.All.PD.MaxReplicas; read && others < least {
			return fmt.Sprintf("PD takes no store offline with fewer than %d others, has %d", least, others)
		}
		return ""
	},
	Remedy: remedy.Remedy{remedy.Say("ask for more replicas of TiKV"), remedy.Say("lower max-replicas in PD first")},
}

// stateKnown waits for a new leader of PD, which calls stores Disconnected or Down before it has
// their heartbeats. A store that serves would look like a store that does not.
var stateKnown = plan.Hook{
	Reason: plan.EnoughStores, Want: "PD's leader knows whether the store serves",
	Because: "a new leader of PD calls a store Disconnected or Down before it has got a heartbeat of that store",
	Done: func(sc plan.Scope, m state.Member) bool {
		return storeLeaving(m) || m.Database.State == state.StoreUp || sc.Heard(m)
	},
	Observed: func(plan.Scope, state.Member) string {
		return "PD has a new leader, which has not heard of all stores yet"
	},
}

var (
	copiesMoved           = regionsMoved(noPlace)
	copiesOfflineByOthers = offlineUnless(noPlace)
)

// noPlace returns why copies of tables cannot leave a store.
func noPlace(sc plan.Scope, m state.Member) string {
	if s, short := shortage(sc, m); short {
		return "no place for them: " + s.String()
	}
	return ""
}

// leastForTables returns the lowest number of replicas that leaves a place for all copies that
// tables ask for.
func leastForTables(sc plan.Scope) (least int, why string, help remedy.Remedy) {
	return leastByRules(sc, 0, "")
}
