package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// inOrder fails a scenario whose transcript does not have these lines in this order.
func inOrder(t *testing.T, w *Model, lines ...string) {
	t.Helper()
	rest := w.Transcript()
	for _, line := range lines {
		_, after, found := strings.Cut(rest, line)
		if !found {
			t.Fatalf("not in the transcript, or not in this order: %q\n%s", line, w.Transcript())
		}
		rest = after
	}
}

func TestParallelScaling(t *testing.T) {
	t.Run("out, all at once", func(t *testing.T) {
		w := settled(Options{PD: 3, TiKV: 3, TiDB: 1, ScaleOut: 3})
		w.Scale(topology.TiKV, 6)
		w.Scale(topology.TiDB, 4)
		w.Scale(topology.PD, 5)
		fine(t, w)
		inOrder(t, w, "scale TiKV from 3 to 6", "scale TiDB from 1 to 4")
		inOrder(t, w, "scale PD from 3 to 4", "scale PD from 4 to 5") // voters never
	})
	t.Run("in, all at once", func(t *testing.T) {
		w := settled(Options{PD: 5, TiKV: 6, TiDB: 4, ScaleIn: 3})
		w.Scale(topology.TiKV, 3)
		w.Scale(topology.TiDB, 1)
		w.Scale(topology.PD, 3)
		fine(t, w)
		inOrder(t, w, "store 6 of basic-tikv-5 offline", "store 5 of basic-tikv-4 offline", "store 4 of basic-tikv-3 offline", "scale TiKV from")
		inOrder(t, w, "scale TiDB from 4 to 1")
		inOrder(t, w, "scale PD from 5 to 4", "scale PD from 4 to 3")
	})
	// One store is slow to leave, or never does. Those above it are done with.
	t.Run("tikv-11-2 what is done does not wait for what is not", func(t *testing.T) {
		w := settled(Options{PD: 3, TiKV: 6, TiDB: 1, ScaleIn: 3})
		w.Scale(topology.TiKV, 3)
		w.OnStep("take store 4", func() { w.store(4).stays = w.t + 450 })
		_, _ = w.Drive(3 * time.Minute)
		if n := w.sets[tikv].spec.replicas; n != 4 {
			t.Errorf("%d replicas\n%s", n, w.Transcript())
		}
		fine(t, w)
	})
	// The other way round nothing can be done with yet: the StatefulSet takes the
	// highest ordinal away.
	t.Run("tikv-11-2 what is done waits for what is above it", func(t *testing.T) {
		w := settled(Options{PD: 3, TiKV: 6, TiDB: 1, ScaleIn: 3})
		w.Scale(topology.TiKV, 3)
		w.OnStep("take store 6", func() { w.store(6).stays = w.t + 450 })
		_, _ = w.Drive(3 * time.Minute)
		if n := w.sets[tikv].spec.replicas; n != 6 || w.store(4).state != state.StoreTombstone {
			t.Errorf("%d replicas\n%s", n, w.Transcript())
		}
		fine(t, w)
	})
	// Five stores, three copies, two wanted: two can go, the third never.
	t.Run("tikv-11-2 no more than the copies allow", func(t *testing.T) {
		w := settled(Options{PD: 3, TiKV: 5, TiDB: 1, ScaleIn: 3})
		w.Scale(topology.TiKV, 2)
		p, err := w.Drive(time.Hour)
		if err != nil || p.Outcome != plan.Blocked || w.sets[tikv].spec.replicas != 3 || len(w.evicts) > 0 {
			t.Errorf("%s, %v\n%s", gates(p), err, w.Transcript())
		}
		w.Scale(topology.TiKV, 3)
		fine(t, w)
	})
}

// onEach does something before every step, with the number of the step.
func (w *Model) onEach(n int, do func(int)) {
	w.OnStep("", func() {
		w.onEach(n+1, do)
		do(n)
	})
}

// A scale-in is cut off after each of its steps, one by one, by the user or by a
// crash, and then called off. However far it came, the cluster is whole again.
func TestCancelledScaleIn(t *testing.T) {
	begin := func(k topology.Kind, atOnce int) *Model {
		w := settled(Options{PD: 5, TiKV: 5, TiDB: 4, ScaleIn: atOnce})
		w.Scale(k, 3)
		return w
	}
	for _, row := range []struct {
		name string
		kind topology.Kind
	}{{"tikv-11-8 tikv-11-37", topology.TiKV}, {"PD", topology.PD}, {"TiDB", topology.TiDB}} {
		for _, atOnce := range []int{1, 2} {
			steps := 0
			w := begin(row.kind, atOnce)
			w.onEach(0, func(n int) { steps = n + 1 })
			fine(t, w)
			if least := map[topology.Kind]int{topology.TiKV: 8, topology.PD: 6, topology.TiDB: 1}[row.kind]; steps < least {
				t.Errorf("%s, %d at once: only %d steps\n%s", row.name, atOnce, steps, w.Transcript())
			}
			for cut := range 2 * steps {
				t.Run(fmt.Sprintf("%s/%d at once/cut %d", row.name, atOnce, cut), func(t *testing.T) {
					w, wanted := begin(row.kind, atOnce), map[topology.Kind]int{topology.PD: 5, topology.TiKV: 5, topology.TiDB: 4}[row.kind]
					w.onEach(0, func(n int) {
						switch {
						case n != cut/2:
						case cut%2 == 0:
							w.kill()
						default:
							w.Stop()
						}
					})
					_, _ = w.Drive(time.Hour)
					w.watches = nil
					w.Scale(row.kind, wanted)
					fine(t, w)
				})
			}
		}
	}
}

// A wanted member in the middle can never serve again with the data it has.
func TestRenewedMembers(t *testing.T) {
	t.Run("a tombstone in the middle", func(t *testing.T) {
		w := settled(Options{PD: 3, TiKV: 5, TiDB: 1})
		w.store(2).state = state.StoreTombstone
		w.wipe(w.store(2))
		fine(t, w)
		inOrder(t, w, "mark tikv-basic-tikv-1", "delete left-over claim tikv-basic-tikv-1", "recreate pod basic-tikv-1")
	})
	t.Run("a voter in the middle that was removed from PD by hand", func(t *testing.T) {
		w := settled(Options{PD: 5, TiKV: 3, TiDB: 1})
		w.claims[pd][1].marked = true
		if err := w.removeMember(w.pd.memberAt(1).id); err != nil {
			t.Fatal(err)
		}
		fine(t, w)
		inOrder(t, w, "delete left-over claim pd-basic-pd-1", "recreate pod basic-pd-1")
	})
	t.Run("two voters, one after the other", func(t *testing.T) {
		w := settled(Options{PD: 5, TiKV: 3, TiDB: 1})
		for i := 1; i <= 2; i++ {
			w.claims[pd][i].marked = true
			if err := w.removeMember(w.pd.memberAt(i).id); err != nil {
				t.Fatal(err)
			}
		}
		fine(t, w)
		inOrder(t, w, "recreate pod basic-pd-1", "serving", "left-over claim pd-basic-pd-2", "recreate pod basic-pd-2")
	})
	t.Run("not while the engine is killed in between", func(t *testing.T) {
		w := settled(Options{PD: 3, TiKV: 5, TiDB: 1})
		w.store(2).state = state.StoreTombstone
		w.wipe(w.store(2))
		w.OnStep("delete left-over claim", w.kill)
		_, _ = w.Drive(time.Hour)
		w.Pass(120)
		if c := w.claims[tikv][1]; c == nil || c.data != 2 {
			t.Fatal("the claim went while its pod was there")
		}
		fine(t, w)
	})
	t.Run("not while another one is down", func(t *testing.T) {
		w := settled(Options{PD: 5, TiKV: 3, TiDB: 1})
		w.claims[pd][1].marked = true
		if err := w.removeMember(w.pd.memberAt(1).id); err != nil {
			t.Fatal(err)
		}
		w.lose(w.pods[pd][3], 1200)
		_, _ = w.Drive(15 * time.Minute)
		notInTranscript(t, w, "delete")
		w.Pass(1200)
		fine(t, w)
	})
}
