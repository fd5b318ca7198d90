package component

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
)

// takenOffline: somebody else has taken a store offline in PD, by pd-ctl or another
// tool. It goes on serving what has not left it yet, but PD gives it nothing new, so
// that it does not count as a peer. It is not brought back.
func takenOffline(sc plan.Scope, m state.Member) (observed string, help remedy.Remedy, stuck bool) {
	if _, ours := sc.All.Removal(m.Database.ID); ours || m.Database.State != state.StoreOffline {
		return "", nil, false
	}
	observed = fmt.Sprintf("somebody else took store %d offline in PD, %d regions left", m.Database.ID, m.Database.Regions)
	if why := nowhereToGo(sc, m); why != "" {
		observed, stuck = observed+": "+why, true
	}
	return observed, remedy.Remedy{
		remedy.Run("to keep the store", sc.PDCtl(fmt.Sprintf("store cancel-delete %d", m.Database.ID))),
		remedy.Run("to let it go, wait: its member gets a new store when this one is a tombstone; to look at it",
			sc.PDCtl(fmt.Sprintf("store %d", m.Database.ID))),
	}, stuck
}
