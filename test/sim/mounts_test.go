package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestPodLacksVolume: a StatefulSet gets a claim template more, and pod 1 is the first one that has no volume for it. The
// controller makes no pod again that it gets to later, and deletes no surplus pod. With Parallel it gets to pods 1 and 2
// at the same time.
func TestPodLacksVolume(t *testing.T) {
	for _, c := range []struct {
		ordered bool
		lost    int
		made    bool
	}{{true, 0, true}, {true, 2, false}, {true, 3, false}, {false, 0, true}, {false, 2, true}, {false, 3, false}} {
		t.Run(fmt.Sprintf("ordered %t, pod %d is lost", c.ordered, c.lost), func(t *testing.T) {
			w := New(Options{Seed: 1, PD: 3, TiKV: 5, TiDB: 1, Ordered: [components]bool{tikv: c.ordered}})
			w.Settle(time.Hour)
			w.pods[tikv][0].mounts = "wal=/wal"
			written := w.ShownSet(topology.TiKV).Spec
			written.Generation, written.Mounts, written.Replicas = written.Generation+1, "wal=/wal", 4
			w.WriteSet(topology.TiKV, written)
			w.pods[tikv][c.lost] = nil
			w.Pass(60)
			if made := w.pods[tikv][c.lost] != nil; made != c.made {
				t.Errorf("the lost pod is made again: %t", made)
			}
			if w.pods[tikv][4] == nil {
				t.Error("the surplus pod is deleted")
			}
		})
	}
}
