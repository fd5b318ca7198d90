package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// A store that PD lists under an unexpected address serves with its leaders. It is not restarted as one whose data
// nobody uses, and its claim is not marked; the rollout waits until PD lists it under its own address.
func TestUnlistedStoreIsNotFree(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3})
	w.Upgrade("v2", topology.TiKV)
	s := w.ownStore(2)
	s.unlisted, s.unlistedPod = w.t+3000, w.pods[tikv][2].uid
	_, _ = w.Drive(10 * time.Minute)
	notInTranscript(t, w, "restart basic-tikv")
	notInTranscript(t, w, "mark tikv")
	s.unlisted = 0
	fine(t, w)
}

// The pod of such a store is missing for a moment, while the store is to leave. The label of its claim says that PD
// still counts on the data: the claim is not marked, and the store leaves PD before its pod.
func TestUnlistedStoreWithoutPodIsNotFree(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4})
	s := w.ownStore(3)
	s.unlisted, s.unlistedPod = w.t+3000, w.pods[tikv][3].uid
	w.Scale(topology.TiKV, 3)
	w.pods[tikv][3] = nil
	_, _ = w.Drive(10 * time.Minute)
	fine(t, w)
	if s.state != state.StoreTombstone {
		t.Errorf("the store is %s\n%s", s.state, w.Transcript())
	}
}
