package sim

import (
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// deleteClaimInUse deletes the claim of a store that serves, as a person could. Kubernetes keeps
// the claim as long as its pod is there; the next pod gets a new one, without data. Only one store
// at a time is concerned, and only if the other stores have all the data. Otherwise data is lost,
// and no engine can help.
func (w *Model) deleteClaimInUse() {
	k, i, p := w.anyPod()
	if k.data() != topology.Store || p == nil || !w.whole() || !w.spare(k, i) || !w.copied(i) {
		return
	}
	if c := w.claims[k][i]; c != nil && c.data != 0 {
		w.note("fault: a person deletes claim %s", c.name)
		c.goneAt = w.t
	}
}

// whole reports whether all stores have their data, and none is about to lose it.
func (w *Model) whole() bool {
	for _, s := range w.stores {
		if s.elsewhere() {
			continue
		}
		c := w.claims[s.k][s.ordinal]
		if s.state != state.StoreTombstone && (c == nil || c.data != s.id || c.goneAt != never || c.lost) {
			return false
		}
	}
	return true
}

// copied reports whether each region has all of its copies, and a quorum without the store of an
// ordinal. If a region has two copies, PD may move one onto that store; without it there is no
// quorum then.
func (w *Model) copied(i int) bool {
	for n := range w.regions {
		r := &w.regions[n]
		others := 0
		for _, s := range r.replicas {
			if s.ordinal != i && s.runs {
				others++
			}
		}
		if others < w.MaxCopy/2+1 || len(r.replicas) < w.MaxCopy {
			return false
		}
	}
	return true
}

// makeRoom scales out by one store. A person does so who reads that the regions of a store whose
// claim is being deleted have no place.
func (w *Model) makeRoom(g plan.Gate) {
	if !g.Blocked || w.chaos || g.Component.Data() != topology.Store || g.Member == "" {
		return
	}
	if n := w.Intent.Replicas[tikv]; n < 6 && strings.Contains(g.Remedy.Line(""), "ask for more replicas of TiKV") {
		w.Scale(topology.TiKV, n+1) // PD takes no store of TiFlash offline with so few
		return
	}
	i, _ := w.index(g.Component, g.Member)
	k := kindOf(g.Component)
	s, n := w.storeAtAddress(k, i), w.Intent.Replicas[k]
	if lost := s != nil && w.claims[k][i] != nil && w.claims[k][i].data != s.id; (w.going(k, i) || lost) && w.Intent.wants(k, i) && n < 6 {
		w.Scale(g.Component, n+1)
	}
}

// storeAtAddress is the store that PD knows by the address of an ordinal.
func (w *Model) storeAtAddress(k kind, i int) *store {
	at := slices.IndexFunc(w.stores, func(s *store) bool { return s.k == k && s.ordinal == i && s.state != state.StoreTombstone })
	if at < 0 {
		return nil
	}
	return w.stores[at]
}
