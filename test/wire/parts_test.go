package wire

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// TestOtherPart: while an upgrade runs, the driver of another part restarts stores of its own, with the lock that both
// share. Never are stores of both parts away together, also where the other driver is killed, and both get their turns.
func TestOtherPart(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			o := sim.Options{Seed: 100 + seed, PD: 3, TiKV: 3, TiDB: 1, StoresElsewhere: 2, OtherPart: true}
			Run(t, o, func(t *testing.T, w *World) {
				defer w.transcript(t)
				play(t, w, []operation{{[]string{"upgrade", "basic", "v8.1.1"}, 20 * time.Minute}, {[]string{"restart", "basic", "tikv"}, 20 * time.Minute}}, Faults{})
				if n := w.Model.OtherPartTakes(); n == 0 {
					t.Error("the other part has restarted no store")
				}
			})
		})
	}
}
