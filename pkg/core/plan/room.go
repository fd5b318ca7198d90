package plan

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/scheduling"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// FullObserved adds to the number of regions on a store which stores take none of them, because their disks are nearly
// full. Some of the regions may have no other place, and PD does not say that.
func FullObserved(sc Scope, m state.Member) string {
	if full := fullStores(sc, m); full != "" {
		return "; " + full
	}
	return ""
}

// fullStores says which stores take no regions of a store, "" for none.
func fullStores(sc Scope, m state.Member) string {
	if m.Database.Regions <= 0 {
		return ""
	}
	return scheduling.Full(sc.All.PD, m.Database.ID, sc.All.PD.Placement.Stores)
}

// MakeRoom says how the regions of a store get a place where disks are nearly full. Where the store leaves for a
// scale-in, more replicas would only call the scale-in off.
func MakeRoom(sc Scope, m state.Member) remedy.Remedy {
	if fullStores(sc, m) == "" {
		return nil
	}
	all := remedy.Remedy{remedy.Run("make the volumes of stores larger", sc.Cluster.Plugin("edit"))}
	if sc.Kept(m) {
		all = append(all, remedy.Run("add a store, which has room", sc.Cluster.Plugin("scale", fmt.Sprintf("%s=%d", m.Kind, sc.Want.Replicas+1))))
	}
	return all
}
