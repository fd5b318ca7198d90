package render

import (
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

var tiflashStatus = statusPart{
	members: func(r projection, s *v1alpha1.TidbClusterStatus) { r.tiflash(&s.TiFlash) },
	clear:   func(s *v1alpha1.TidbClusterStatus) { s.TiFlash.Stores, s.TiFlash.PeerStores = nil, nil },
	health: func(s *v1alpha1.TidbClusterStatus) []bool {
		return storesUp(s.TiFlash.Stores)
	},
	unhealthy: "TiFlashStoreNotUp", message: "Not all TiFlash stores are up",
}

func (r projection) tiflash(status *v1alpha1.TiFlashStatus) {
	status.Image = r.image(topology.TiFlash)
	status.Synced = r.snap.PD.Known() && r.snap.PD.Bootstrapped
	if status.Synced {
		status.Stores, status.TombstoneStores = r.stores(topology.TiFlash, status.Stores), nil
		status.PeerStores = r.peerStores(topology.TiFlash, status.PeerStores)
	}
}
