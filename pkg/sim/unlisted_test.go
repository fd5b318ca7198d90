package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// A store that PD lists under an unexpected address serves with its leaders. It is not restarted as one whose data nobody
// uses, and its claim is not marked; the rollout waits until PD lists it under its own address.
func TestUnlistedStoreIsNotFree(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3})
	w.Upgrade("v2", topology.TiKV)
	s := w.ownStore(2)
	s.unlisted = w.t + 3000
	_, _ = w.Drive(10 * time.Minute)
	notInTranscript(t, w, "restart basic-tikv")
	notInTranscript(t, w, "mark tikv")
	s.unlisted = 0
	fine(t, w)
}
