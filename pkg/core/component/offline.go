package component

import (
	"fmt"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// offlineByOthers does not hold if another user or tool has taken a store offline in PD, for
// example with pd-ctl. The store still serves its regions, but PD gives the store no new regions,
// so it does not count as a peer. It is not brought back.
var offlineByOthers = offlineUnless(nowhereToGo)

// offlineUnless is that goal for the stores of one component. stuck returns why their regions cannot
// leave.
func offlineUnless(stuck func(plan.Scope, state.Member) string) plan.Hook {
	return plan.Hook{
		Reason: plan.MemberServing, Want: "serving",
		Refuse: func(sc plan.Scope, m state.Member) string {
			if why := stuck(sc, m); why != "" && takenOffline(sc, m) {
				return takenObserved(sc, m) + ": " + why
			}
			return ""
		},
		Done:     func(sc plan.Scope, m state.Member) bool { return !takenOffline(sc, m) },
		Observed: takenObserved,
		Left:     regionsToMove,
		Since:    leavingSince,
		Patience: plan.Moving,
		Help: func(sc plan.Scope, m state.Member) remedy.Remedy {
			letGo := remedy.Run("to let it go, wait: its member gets a new store when this one is a tombstone; to look at it",
				sc.PDCtl(fmt.Sprintf("store %d", m.Database.ID)))
			if stuck(sc, m) != "" {
				letGo = remedy.Run("to let it go, ask for more replicas, so that its regions have a place; its member gets a new store when this one is a tombstone",
					sc.Cluster.Plugin("scale", fmt.Sprintf("%s=%d", m.Kind, sc.Want.Replicas+1)))
			}
			keep := remedy.Run("to keep the store", sc.PDCtl(fmt.Sprintf("store cancel-delete %d", m.Database.ID)))
			return slices.Concat(remedy.Remedy{keep, letGo}, plan.MakeRoom(sc, m), findRoom(sc, m))
		},
	}
}

func takenOffline(sc plan.Scope, m state.Member) bool {
	_, ours := sc.All.Removal(m.Database.ID)
	return !ours && m.Database.State == state.StoreOffline
}

func takenObserved(sc plan.Scope, m state.Member) string {
	left := remedy.Count(m.Database.Regions, "region", "regions")
	return fmt.Sprintf("store %d was taken offline in PD by another user or tool, %s left", m.Database.ID, left) + plan.FullObserved(sc, m)
}
