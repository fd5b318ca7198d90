package wire

import (
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// TestStandStill: a process stands still before its first write. Nothing else that the process sends arrives. The write
// arrives when the process goes on.
func TestStandStill(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		before := len(w.requests)
		w.Faults.Asleep = 1
		if r := w.said(w.Suspendable(t.Context(), "restart", "basic", "tidb", "--yes")); r.Code == 0 {
			t.Error("the command has succeeded")
		}
		w.Faults.Asleep = 0
		if n := len(w.asleep); n != 1 {
			t.Fatalf("%d processes stand still", n)
		}
		sent := w.requests[before:]
		if last := sent[len(sent)-1].What; last != standsStill {
			t.Errorf("the process has sent %s", last)
		}
		for _, r := range sent {
			if !strings.HasPrefix(r.What, "GET") && r.What != standsStill {
				t.Errorf("before the process goes on: %s", r.What)
			}
		}
		before = len(w.requests)
		w.wakeAll()
		w.Sleep(minutes)
		if sent := w.requests[before:]; len(sent) != 2 || sent[0].What != goesOn || strings.HasPrefix(sent[1].What, "GET") {
			t.Errorf("the process has sent %v", sent)
		}
	})
}
