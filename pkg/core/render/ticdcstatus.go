package render

import (
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

var ticdcStatus = statusPart{
	members: func(r projection, s *v1alpha1.TidbClusterStatus) { r.ticdc(&s.TiCDC) },
	clear:   func(s *v1alpha1.TidbClusterStatus) { s.TiCDC.Captures = nil },
	health: func(s *v1alpha1.TidbClusterStatus) []bool {
		var all []bool
		for _, c := range s.TiCDC.Captures {
			all = append(all, c.Ready)
		}
		return all
	},
	unhealthy: "TiCDCCaptureNotReady", message: "Not all TiCDC captures are ready",
}

func (r projection) ticdc(status *v1alpha1.TiCDCStatus) {
	captures := map[string]v1alpha1.TiCDCCapture{}
	ready := 0
	for _, m := range r.snap.Groups[topology.TiCDC].InSet() {
		before, known := status.Captures[m.Name]
		if m.Database.Presence == state.Unknown && known {
			captures[m.Name] = before
			continue
		}
		d := m.Database
		captures[m.Name] = v1alpha1.TiCDCCapture{
			PodName: m.Name, ID: d.Capture.ID, Version: d.Version, IsOwner: d.Capture.Owner,
			Ready: d.Presence == state.Present && d.Healthy,
		}
	}
	for _, c := range captures {
		if c.Ready {
			ready++
		}
	}
	want, _ := r.wanted.Group(topology.TiCDC)
	status.Synced = ready == want.Size()
	status.Captures = filled(captures)
}
