package render

import (
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

var tidbStatus = statusPart{
	members: func(r projection, s *v1alpha1.TidbClusterStatus) { r.tidb(&s.TiDB) },
	clear:   func(s *v1alpha1.TidbClusterStatus) { s.TiDB.Members = nil },
	health: func(s *v1alpha1.TidbClusterStatus) []bool {
		var all []bool
		for _, m := range s.TiDB.Members {
			all = append(all, m.Health)
		}
		return all
	},
	unhealthy: "TiDBUnhealthy", message: "Not all TiDB servers are healthy",
}

func (r projection) tidb(status *v1alpha1.TiDBStatus) {
	status.Image = r.image(topology.TiDB)
	members := map[string]v1alpha1.TiDBMember{}
	for _, m := range r.snap.Groups[topology.TiDB].InSet() {
		before, known := status.Members[m.Name]
		if m.Database.Presence == state.Unknown && known {
			members[m.Name] = before
			continue
		}
		member := v1alpha1.TiDBMember{
			Name:               m.Name,
			Health:             m.Database.Presence == state.Present && m.Database.Healthy,
			LastTransitionTime: r.at,
			NodeName:           before.NodeName,
		}
		if known && before.Health == member.Health {
			member.LastTransitionTime = before.LastTransitionTime
		}
		members[m.Name] = member
	}
	status.Members = filled(members)
}
