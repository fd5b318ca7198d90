package render

import (
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

var pumpStatus = statusPart{
	members: func(r projection, s *v1alpha1.TidbClusterStatus) { r.pump(&s.Pump) },
	clear:   func(s *v1alpha1.TidbClusterStatus) { s.Pump.Members = nil },
	health: func(s *v1alpha1.TidbClusterStatus) []bool {
		var all []bool
		for _, m := range s.Pump.Members {
			all = append(all, m.State == v1alpha1.PumpStateOnline)
		}
		return all
	},
	unhealthy: "PumpNotOnline", message: "Not all Pumps are online",
}

// pump writes the Pumps of running members. What is known of others is in PD's etcd only.
func (r projection) pump(status *v1alpha1.PumpStatus) {
	before := map[string]*v1alpha1.PumpNodeStatus{}
	for _, m := range status.Members {
		if m != nil {
			_, ordinal, _ := r.wanted.Cluster.Member(m.Host)
			before[r.wanted.Cluster.PodName(topology.Pump, ordinal)] = m
		}
	}
	status.Members = nil
	for _, m := range r.snap.Groups[topology.Pump].InSet() {
		p := m.Database.Pump
		switch old := before[m.Name]; {
		case m.Database.Presence == state.Present:
			status.Members = append(status.Members, &v1alpha1.PumpNodeStatus{NodeID: p.Node, Host: p.Host, State: string(p.State)})
		case m.Database.Presence == state.Unknown && old != nil:
			status.Members = append(status.Members, old)
		}
	}
}
