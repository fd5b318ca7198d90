package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestLeaderUnreached: PD serves, and only we cannot ask its leader, while PD is rolled out, also to a template that
// crashes. No member is restarted for that, and everything goes on when the leader is back.
func TestLeaderUnreached(t *testing.T) {
	for name, hide := range map[string]func(*Model, int64){
		"the tunnel to its host is cut":      (*Model).cutLeader,
		"it does not accept our certificate": (*Model).distrustLeader,
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range 20 {
				w := settled(Options{PD: 3 + 2*(seed%2), TiKV: 3, TiDB: 1, Seed: uint64(seed)})
				template := "v2-" + crashing
				if seed%4 == 3 {
					template = "v2"
				}
				w.Upgrade(template, topology.PD)
				at := w.t + int64(5+4*seed)
				w.When(func(w *Model) bool { return w.t >= at }, func() { hide(w, 1500) })
				_, _ = w.Drive(40 * time.Minute)
				if len(w.Broken) > 0 {
					t.Fatalf("seed %d: %v\n%s", seed, w.Broken, w.Transcript())
				}
				if template == "v2-"+crashing && strings.Count(w.Transcript(), "restart basic-pd-") > 1 {
					t.Errorf("seed %d: more than one member of PD is restarted\n%s", seed, w.Transcript())
				}
				w.Upgrade("v3", topology.PD)
				fine(t, w)
			}
		})
	}
}
