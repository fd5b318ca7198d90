package component

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TiKV's members hold the data. Leaders leave a store before a restart, and all regions before a
// removal.
func TiKV() plan.Profile {
	return plan.Profile{
		Kind:          topology.TiKV,
		Needs:         []plan.Need{pdServes, pdUpgraded, tsoServes},
		Floor:         leastStores,
		Standing:      []plan.Hook{storeRestored, leadersAllowed, evictionForgotten},
		BeforeRestart: []plan.Hook{leadersBack, leadersEvicted},
		BeforeHold:    []plan.Hook{leadersBack},
		Together:      &storesTogether,
		BeforeRemove: []plan.Hook{
			notJoining, newStoresHeard, enoughStores, othersRun, rulesRead, rulesKept, storesElsewhereUp, placesServe, regionsMayMove, leadersLeft, storeOffline,
			storeTombstone, evictionEnded, plan.LeftoverMarked,
		},
		BeforeRenew:   []plan.Hook{evictionEnded, plan.LeftoverMarked},
		BeforeNext:    []plan.Hook{regionsBalanced},
		BeforeSuspend: []plan.Hook{tombstoneMarked, claimsKept, removalsSettled, evictionsEnded},
		Abandoned:     &offlineByOthers,
		Failover: &plan.Failover{
			Period:             func(sc plan.Scope) time.Duration { return sc.All.PD.MaxStoreDown + failoverPeriod },
			Spare:              spareStore,
			RemoveFromDatabase: []plan.Hook{newStoresHeard, enoughStores, othersRun, rulesRead, rulesKept, placesServe, regionsMayMove, storeOffline, storeTombstone, evictionEnded},
			Keeps:              true,
		},
	}
}

// spareStore returns the reason not to give a store up. PD decides that a store is Down,
// and then creates new copies of its regions. A user who asks for a replacement now need
// not wait for that.
func spareStore(_ plan.Scope, m state.Member, now bool) string {
	switch {
	case m.Database.Presence != state.Present:
		return "PD does not know its store"
	case m.Database.State == state.StoreDown, now && m.Database.State == state.StoreDisconnected:
		return ""
	}
	return fmt.Sprintf("PD calls its store %s, not Down", m.Database.State)
}

func ownStores(sc plan.Scope) int {
	n := 0
	for _, m := range sc.Got.Members {
		if m.CountedOn() {
			n++
		}
	}
	return n
}

// storeRestored cancels the removal of a store that the user wants again, if we began it.
// A store that a person has taken offline in PD stays offline: the reason is not known
// here.
var storeRestored = plan.Hook{
	Reason: plan.RemovalCancelled, Want: "removal cancelled",
	Done: func(sc plan.Scope, m state.Member) bool {
		_, ours := sc.All.Removal(m.Database.ID)
		return !ours || m.Database.State == state.StoreTombstone
	},
	Step: func(_ plan.Scope, m state.Member) step.Step {
		if m.Database.State == state.StoreOffline {
			return step.RestoreStore{Component: m.Kind, Member: m.Name, StoreID: m.Database.ID}
		}
		return step.ForgetRecord{Component: m.Kind, Member: m.Name, StoreID: m.Database.ID, Record: state.RecordRemoval}
	},
	Observed: storeObserved,
}

// newStoresHeard waits, before a store is taken offline, until PD has heard of all stores that are new. PD calls a new
// store Down for ten seconds, so that there would seem to be too few stores.
var newStoresHeard = plan.Hook{
	Reason: plan.EnoughStores, Want: "PD has heard of all new stores",
	Because: "PD calls a new store Down before its first heartbeat, so that it would seem that there are too few",
	Done:    func(sc plan.Scope, m state.Member) bool { return storeLeaving(m) || newStore(sc) == "" },
	Observed: func(sc plan.Scope, _ state.Member) string {
		return "PD has not heard yet of " + newStore(sc) + ", which is new"
	},
}

// newStore returns a store of which PD has yet to get the first heartbeat, "" if there is none.
func newStore(sc plan.Scope) string {
	for _, k := range topology.Kinds() {
		for _, m := range sc.All.Groups[k].Members {
			if m.Database.New && m.Database.Healthy {
				return m.Name
			}
		}
	}
	return ""
}

// enoughStores holds before a store is taken offline. PD would never finish moving regions away
// from a store that PD needs for a full set of replicas. Stores with a higher ordinal that leave as
// well do not count. PD itself also counts stores that are Down and not Offline. For a store that
// surely does not serve, no more than that is required. A store of which PD has missed a heartbeat
// may serve, and have one of three copies.
var enoughStores = plan.Hook{
	Reason: plan.EnoughStores, Want: "PD has enough other stores",
	Because: "PD would never finish moving regions away from a store that it needs for max-replicas",
	Refuse: func(sc plan.Scope, m state.Member) string {
		pd := sc.All.PD
		if storeLeaving(m) {
			return ""
		}
		if surelyDown(sc, m) || m.Database.State != state.StoreUp && !sc.Heard(m) { // othersRun waits until that is known
			if others := pd.Stores - 1; others < pd.MaxReplicas {
				return fmt.Sprintf("needs %d other stores, has %d", pd.MaxReplicas, others)
			}
			return ""
		}
		others := upBeside(sc, m, func(state.Member) bool { return true })
		if others+mayComeUp(sc) < pd.MaxReplicas {
			return fmt.Sprintf("needs %d other stores up, has %d", pd.MaxReplicas, others)
		}
		return ""
	},
	Remedy: remedy.Remedy{remedy.Say("ask for more replicas"), remedy.Say("lower max-replicas in PD first")},
}

// mayComeUp returns how many stores of other parts PD does not call Up although these stores are to serve. othersRun waits
// for such stores. PD calls a new store Down from the registration to the first heartbeat.
func mayComeUp(sc plan.Scope) (n int) {
	for _, s := range sc.All.PD.Elsewhere {
		if s.State != state.StoreOffline {
			n++
		}
	}
	return n
}

// upBeside returns how many stores are up, without the given store and stores with a higher ordinal
// that leave. Members of ours for which count returns false are left out.
func upBeside(sc plan.Scope, m state.Member, count func(state.Member) bool) int {
	return upStores(sc, func(o state.Member) bool {
		leaves := o.Ordinal == m.Ordinal || o.Ordinal > m.Ordinal && !sc.Kept(o)
		return !leaves && count(o)
	})
}

// upStores returns how many stores are up, without members of ours for which count returns false. PD calls a store
// Down until the first heartbeat after a start. A store that serves by its own answer counts before that. Otherwise a
// run would end because of stores that it has just restarted.
func upStores(sc plan.Scope, count func(state.Member) bool) int {
	n := sc.All.PD.UpStores
	for _, o := range sc.Got.Members {
		switch up := o.Database.State == state.StoreUp; {
		case up && !count(o):
			n--
		case !up && o.Database.Healthy && count(o):
			n++
		}
	}
	return n
}

// othersRun waits for stores that PD still calls Up although their processes have ended. PD notices
// such an end 20 s later. Such a store may have one of three copies, and the store that leaves
// another copy.
var othersRun = plan.Hook{
	Reason: plan.EnoughStores, Want: "processes of enough other stores run",
	Because: "PD calls a store Up for 20 seconds after its process has ended",
	Done: func(sc plan.Scope, m state.Member) bool {
		return storeLeaving(m) || surelyDown(sc, m) || upBeside(sc, m, runs) >= sc.All.PD.MaxReplicas
	},
	Help: func(sc plan.Scope, m state.Member) remedy.Remedy {
		return remedy.Remedy{remedy.Run("see which stores do not run",
			sc.Cluster.Kubectl("get", "pods", "-l", "app.kubernetes.io/instance="+sc.Cluster.Instance+",app.kubernetes.io/component="+string(m.Kind)))}
	},
	Observed: func(sc plan.Scope, m state.Member) string {
		return fmt.Sprintf("needs %d other stores that run, has %d", sc.All.PD.MaxReplicas, upBeside(sc, m, runs))
	},
}

// storesElsewhereUp waits for the stores of other clusters that PD counts, before a store that may serve is taken
// offline. A restart waits for them as well.
var storesElsewhereUp = plan.Hook{
	Reason: plan.StoresElsewhereUp, Want: plan.StoresElsewhereWanted,
	Done: func(sc plan.Scope, m state.Member) bool {
		return storeLeaving(m) || surelyDown(sc, m) || state.MissingElsewhere(*sc.All) == ""
	},
	Observed: func(sc plan.Scope, _ state.Member) string { return state.MissingElsewhere(*sc.All) },
	Help: func(sc plan.Scope, _ state.Member) remedy.Remedy {
		return plan.StoresElsewhereHelp(*sc.Cluster, *sc.All)
	},
}

// runs reports whether a process runs by the report of Kubernetes, whatever PD last knew.
func runs(m state.Member) bool {
	return m.Pod != nil && !m.Pod.Started.IsZero() && !m.Pod.Terminating
}

// surelyDown reports whether a store surely does not serve. A new leader of PD reports stores as
// Down until it has received a heartbeat. A store that answers at its own port runs, whatever PD says.
func surelyDown(sc plan.Scope, m state.Member) bool {
	if m.Database.Answer == state.Answered {
		return false
	}
	return m.Database.State == state.StoreDown && sc.Heard(m) || m.Database.State != state.StoreUp && sc.SurelyDown(m)
}

var storeOffline = plan.Hook{
	Reason: plan.StoreOffline, Want: "store offline",
	Done: func(_ plan.Scope, m state.Member) bool { return storeLeaving(m) },
	Step: func(sc plan.Scope, m state.Member) step.Step {
		return step.RemoveStore{
			Component: m.Kind, Member: m.Name, StoreID: m.Database.ID,
			Down: m.Database.State != state.StoreUp, NotUp: sc.All.StoresNotUp(), Removals: sc.All.RemovedStores(),
		}
	},
	Observed: storeObserved,
}

var storeTombstone = regionsMoved(nowhereToGo)

// regionsMoved is the goal that a store which leaves has no regions left. stuck returns why they
// cannot leave.
func regionsMoved(stuck func(plan.Scope, state.Member) string) plan.Hook {
	return plan.Hook{
		Reason: plan.RegionsMoved, Want: "all regions moved away",
		Refuse: func(sc plan.Scope, m state.Member) string {
			if cause, stays := regionsStay(sc, m); stays && m.Database.State == state.StoreOffline && m.Database.Regions > 0 {
				return remedy.Count(m.Database.Regions, "region", "regions") + " left; " + cause.Text
			}
			return ""
		},
		Done: func(_ plan.Scope, m state.Member) bool { return m.Database.State != state.StoreOffline },
		Observed: func(sc plan.Scope, m state.Member) string {
			return remedy.Count(m.Database.Regions, "region", "regions") + " left" + plan.FullObserved(sc, m)
		},
		Left:     regionsToMove,
		Since:    leavingSince,
		Patience: plan.Moving,
		Stuck:    stuck,
		Help: func(sc plan.Scope, m state.Member) remedy.Remedy {
			cause, _ := regionsStay(sc, m)
			return slices.Concat(cause.Help(sc.PDCtl), plan.MakeRoom(sc, m), rulesHelp(sc, m), callOff(sc, m), findRoom(sc, m))
		},
	}
}

func regionsToMove(_ plan.Scope, m state.Member) plan.Quantity {
	return plan.Quantity{Number: int64(m.Database.Regions), Unit: plan.Regions}
}

// callOff returns how a scale-in is called off. A store may also leave because its data was given
// up, or because its claim is being deleted. Such a store leaves also after a scale-out, because
// its member is wanted already.
func callOff(sc plan.Scope, m state.Member) remedy.Remedy {
	if sc.Kept(m) {
		return nil
	}
	return remedy.Remedy{remedy.Say("to call it off, scale " + m.Kind.Title() + " out again: the store is brought back up with what it has")}
}

// findRoom returns commands that show why regions stay on a store.
func findRoom(sc plan.Scope, m state.Member) remedy.Remedy {
	if since := leavingSince(sc, m); since.IsZero() || sc.All.At.Sub(since) < plan.Moving {
		return nil
	}
	return remedy.Remedy{remedy.Run("if their number stays as it is, see whether full disks or labels of the other stores leave them no place", sc.PDCtl("store"))}
}

// leavingSince returns when we took the store offline. If others did, that time is not known, and
// the time counts from this process's first observation of it.
func leavingSince(sc plan.Scope, m state.Member) time.Time {
	if r, ours := sc.All.Removal(m.Database.ID); ours {
		return r.Since
	}
	return m.NotServing
}

// nowhereToGo returns why regions cannot leave a store. A long time is no reason: as long as their
// number falls, waiting helps (plan.Waits).
func nowhereToGo(sc plan.Scope, m state.Member) string {
	pd := sc.All.PD
	s, short := shortage(sc, m)
	switch {
	case pd.UpStores < pd.MaxReplicas:
		return fmt.Sprintf("no place for them, since only %s up for max-replicas %d", remedy.Count(pd.UpStores, "store is", "stores are"), pd.MaxReplicas)
	case short:
		return "no place for them: " + s.String()
	}
	return ""
}

func storeLeaving(m state.Member) bool {
	return m.Database.Presence == state.Absent ||
		m.Database.State == state.StoreOffline || m.Database.State == state.StoreTombstone
}

func storeObserved(_ plan.Scope, m state.Member) string {
	return fmt.Sprintf("it is %s", m.Database.State)
}
