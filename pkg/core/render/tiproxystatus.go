package render

import (
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

var tiproxyStatus = statusPart{
	members: func(r projection, s *v1alpha1.TidbClusterStatus) { r.tiproxy(&s.TiProxy) },
	clear:   func(s *v1alpha1.TidbClusterStatus) { s.TiProxy.Members = nil },
	health: func(s *v1alpha1.TidbClusterStatus) []bool {
		var all []bool
		for _, m := range s.TiProxy.Members {
			all = append(all, m.Health)
		}
		return all
	},
	unhealthy: "TiProxyUnhealthy", message: "Not all TiProxy are healthy",
}

func (r projection) tiproxy(status *v1alpha1.TiProxyStatus) {
	status.Synced = true
	members := map[string]v1alpha1.TiProxyMember{}
	for _, m := range r.snap.Groups[topology.TiProxy].InSet() {
		before, known := status.Members[m.Name]
		if m.Database.Presence == state.Unknown && known {
			members[m.Name] = before
			continue
		}
		member := v1alpha1.TiProxyMember{
			Name:               m.Name,
			Health:             m.Database.Presence == state.Present && m.Database.Healthy,
			LastTransitionTime: r.at,
		}
		if known && before.Health == member.Health {
			member.LastTransitionTime, member.Info = before.LastTransitionTime, before.Info
		}
		members[m.Name] = member
	}
	status.Members = filled(members)
}
