package wire

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// inZones is a cluster with nine stores in three zones. PD keeps the replicas of each region in different zones. The
// model judges restarts by what the command is asked for.
func inZones(seed uint64, concurrency int) sim.Options {
	return sim.Options{
		Seed: seed, PD: 3, TiKV: 9, TiDB: 2, Many: true, Zones: []int{0, 1, 2}, Isolated: true, Concurrency: plan.Concurrency{Number: concurrency},
	}
}

// TestBatchSeeds restarts stores in batches by commands, among faults that change where replicas are and which stores
// run. No region loses its quorum by a request of a command.
func TestBatchSeeds(t *testing.T) {
	if *first == 0 {
		*first = uint64(time.Now().UnixMilli())
	}
	t.Logf("the first seed is %d", *first)
	together, n := 0, max(*seeds/5, 1)
	for i := range uint64(n) {
		seed := *first + i
		o := sim.DrawnBatches(seed)
		o.TiDB, o.Isolated = max(o.TiDB, 1), true // otherwise the commands refuse to do anything
		many := o.Concurrency.String()
		all := []operation{{[]string{"upgrade", "basic", "v8.1.1", "--concurrency", many}, 20 * time.Minute}}
		for range 3 { // what is refused now is asked for again
			all = append(all, operation{[]string{"restart", "basic", "tikv", "--concurrency", many}, 15 * time.Minute})
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			Run(t, o, func(t *testing.T, w *World) {
				defer w.transcript(t)
				play(t, w, all, Faults{})
				together += w.Model.Soft.Together
			})
		})
	}
	t.Logf("%d runs, %d restarts while another member of the batch was down", n, together)
}

// TestBatches: a command restarts the stores of a zone together, and leaves the StatefulSet as it was before.
func TestBatches(t *testing.T) {
	Run(t, inZones(1, 3), func(t *testing.T, w *World) {
		w.create(t)
		shown := w.Must(t, 0, "upgrade", "basic", "v8.1.1", "--concurrency", "3", "--dry-run=client")
		if !strings.Contains(shown.Out, "9 to restart, in 4 batches") {
			t.Errorf("the preview says:\n%s", shown.Out)
		}
		w.Must(t, 0, "upgrade", "basic", "v8.1.1", "--concurrency", "3", "--yes")
		if w.Model.Soft.Together == 0 {
			t.Error("no two stores restarted together")
		}
		if set := w.Model.ShownSet("tikv").Spec; set.Manual || set.InBatches || set.Partition != 9 {
			t.Errorf("at the end: %+v", set)
		}
		w.wantUnbroken(t)
	})
}

// TestBatchesRefused: what cannot be restarted together is refused before anything is changed.
func TestBatchesRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change      func(*sim.Options)
		concurrency string
		code        int
		says        string
	}{
		"more than a zone has": {func(*sim.Options) {}, "4", 3, "concurrency 4 is 4 of 9 members, and no failure domain has more than 3"},
		"no isolation level":   {func(o *sim.Options) { o.Isolated = false }, "3", 3, "PD has no location-labels"},
		"not a number":         {func(*sim.Options) {}, "many", 2, "it has to be a number from 1 on"},
		"more than all":        {func(*sim.Options) {}, "101%", 2, "it has to be 100% or less"},
	} {
		t.Run(name, func(t *testing.T) {
			o := inZones(1, 3)
			c.change(&o)
			Run(t, o, func(t *testing.T, w *World) {
				w.create(t)
				r := w.Command(t.Context(), "restart", "basic", "tikv", "--concurrency", c.concurrency, "--yes")
				if r.Code != c.code || !strings.Contains(r.Err, c.says) {
					t.Errorf("exit code %d, want %d\n%s", r.Code, c.code, r.Err)
				}
				if w.Model.Soft.Restarts > 0 {
					t.Errorf("%d restarts", w.Model.Soft.Restarts)
				}
			})
		})
	}
}
