package render

import (
	"strconv"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

var tikvStatus = statusPart{
	members: func(r projection, s *v1alpha1.TidbClusterStatus) { r.tikv(&s.TiKV) },
	clear:   func(s *v1alpha1.TidbClusterStatus) { s.TiKV.Stores, s.TiKV.PeerStores = nil, nil },
	counts: func(r projection, s *v1alpha1.TidbClusterStatus) {
		r.leaders(s.TiKV.Stores)
		r.peerLeaders(s.TiKV.PeerStores)
	},
	health: func(s *v1alpha1.TidbClusterStatus) []bool {
		return storesUp(s.TiKV.Stores)
	},
	unhealthy: "TiKVStoreNotUp", message: "Not all TiKV stores are up",
}

// tikv writes the status of TiKV. A cluster that was bootstrapped stays so, because a new leader of PD may list no
// stores for a moment. If the status said then that there were none, the next observation would take each store for one
// that PD does not know.
func (r projection) tikv(status *v1alpha1.TiKVStatus) {
	status.Image = r.image(topology.TiKV)
	status.Synced = r.snap.PD.Known()
	if !status.Synced {
		return
	}
	if !r.snap.PD.Bootstrapped {
		return
	}
	status.BootStrapped = true
	status.Stores, status.TombstoneStores = r.stores(topology.TiKV, status.Stores), nil
	status.PeerStores = r.peerStores(topology.TiKV, status.PeerStores)
}

func storesUp(stores map[string]v1alpha1.TiKVStore) []bool {
	var all []bool
	for _, store := range stores {
		all = append(all, store.State == v1alpha1.TiKVStateUp)
	}
	return all
}

// stores returns the stores of a component as they are now, given the stores of before.
func (r projection) stores(k topology.Kind, known map[string]v1alpha1.TiKVStore) map[string]v1alpha1.TiKVStore {
	stores := map[string]v1alpha1.TiKVStore{}
	for _, m := range r.snap.Groups[k].Members {
		if m.Database.Presence != state.Present || m.Database.State == state.StoreTombstone {
			continue
		}
		id := strconv.FormatUint(m.Database.ID, 10)
		before, there := known[id]
		store := v1alpha1.TiKVStore{
			ID:                       id,
			PodName:                  m.Name,
			IP:                       r.wanted.Cluster.PodHost(k, m.Ordinal),
			LeaderCount:              before.LeaderCount,
			State:                    string(m.Database.State),
			LastTransitionTime:       r.at,
			LeaderCountBeforeUpgrade: before.LeaderCountBeforeUpgrade,
		}
		if there && before.State == store.State {
			store.LastTransitionTime = before.LastTransitionTime
		}
		stores[id] = store
	}
	return filled(stores)
}

// leaders updates the number of region leaders of each store for which it is known.
func (r projection) leaders(stores map[string]v1alpha1.TiKVStore) {
	for _, m := range r.snap.Groups[topology.TiKV].Members {
		id := strconv.FormatUint(m.Database.ID, 10)
		if store, ok := stores[id]; ok && m.Database.Leaders >= 0 {
			store.LeaderCount = int32(m.Database.Leaders)
			stores[id] = store
		}
	}
}
