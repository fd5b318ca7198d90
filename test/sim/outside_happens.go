package sim

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// What happens to the world at a moment that a script chooses. It is for a tier that drives the model from outside.
// Random runs draw the same.

// StopElsewhere stops the stores of another TidbCluster for some seconds.
func (w *Model) StopElsewhere(seconds int64) {
	for _, s := range w.stores {
		if s.elsewhere() {
			s.awayUntil = w.t + seconds
		}
	}
}

// ReportOld leaves Kubernetes for some seconds with an old report of a member's kubelet, that the container does not
// run. No request reaches the member through that kubelet.
func (w *Model) ReportOld(component topology.Kind, ordinal int, seconds int64) {
	if p := w.podAt(kindOf(component), ordinal); p != nil {
		w.misreport(p, seconds, true)
	}
}

// Unlist has PD list the store of a member for some seconds under the address of no pod.
func (w *Model) Unlist(component topology.Kind, ordinal int, seconds int64) {
	k := kindOf(component)
	if s, p := w.storeOf(k, ordinal), w.podAt(k, ordinal); s != nil && p != nil {
		s.unlisted, s.unlistedPod = w.t+seconds, p.uid
	}
}

// Resign has PD's leader step down.
func (w *Model) Resign() { w.resign() }

// EndPod has the phase of a member's pod be final. The process has ended.
func (w *Model) EndPod(component topology.Kind, ordinal int) {
	if p := w.podAt(kindOf(component), ordinal); p != nil {
		w.evict(p, 0)
	}
}

// Stall is a person who sets for some seconds what keeps PD from moving leaders or regions.
func (w *Model) Stall(s state.Scheduling, seconds int64) { w.pd.stall = stall{s, w.t + seconds} }
