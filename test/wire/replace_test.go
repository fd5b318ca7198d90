package wire

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// TestReplace: members get new claims, a spare store is there meanwhile, and what cannot be done is refused before
// anything is changed.
func TestReplace(t *testing.T) {
	scenario(t, sim.Options{PD: 3, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		before := w.Model.ClaimsOf(topology.TiKV)
		text, writes := w.attempt(t, time.Minute, "replace", "basic", "tikv-1", "--yes")
		wantText(t, text, "needs 3 other stores up, has 2")
		wantText(t, text, "add a store until it is replaced: kubectl tidb replace basic basic-tikv-1 --spare")
		wantNone(t, writes, "POST", schedulers)
		shown := w.Must(t, 0, "replace", "basic", "tikv-1", "tikv-2", "--spare", "--dry-run").Out
		wantText(t, shown, "TiKV: 2 to get new volumes, one at a time, a spare member until then")
		t.Log(shown)
		w.Must(t, 0, "replace", "basic", "--all-of", "tikv", "--spare", "--yes")
		after := w.Model.ClaimsOf(topology.TiKV)
		if len(after) < 3 {
			t.Fatal(after)
		}
		for i := range before {
			if before[i] == after[i] {
				t.Errorf("store %d has its old claim", i)
			}
		}
		pd := w.Model.ClaimsOf(topology.PD)
		w.Must(t, 0, "replace", "basic", "pd-0", "--yes")
		if now := w.Model.ClaimsOf(topology.PD); now[0] == pd[0] || now[1] != pd[1] {
			t.Errorf("claims of PD: %v, were %v", now, pd)
		}
		w.Must(t, 0, "replace", "basic", "--cancel")
	})
}

// TestReplaceTwice: a second spare store finds the claim of the first one, and gets a new claim before a store leaves.
func TestReplaceTwice(t *testing.T) {
	scenario(t, sim.Options{PD: 3, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		for range 2 {
			before := w.Model.ClaimsOf(topology.TiKV)
			w.Must(t, 0, "replace", "basic", "tikv-1", "--spare", "--yes")
			if after := w.Model.ClaimsOf(topology.TiKV); after[1] == before[1] {
				t.Errorf("claims %v, were %v", after, before)
			}
		}
	})
}

// TestScaleRemoves: a scale-in removes the member that is named if it has the highest ordinal, and is refused otherwise.
func TestScaleRemoves(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 4, TiDB: 1}, func(t *testing.T, w *World) {
		before := w.Model.Intent.Replicas
		text, writes := w.attempt(t, time.Minute, "scale", "basic", "tikv=3", "--remove", "tikv-1", "--yes")
		wantText(t, text, "tikv=3 removes basic-tikv-3, and basic-tikv-1 would stay; nothing was changed")
		wantText(t, text, "kubectl tidb replace basic basic-tikv-1 ")
		wantNone(t, writes, "PATCH", "tidbclusters")
		w.Must(t, 3, "scale", "basic", "tikv=3", "--remove", "tikv-1", "--dry-run")
		wantText(t, w.Must(t, 2, "scale", "basic", "tikv=3", "--remove", "tikv-7", "--yes").Err, "has no member basic-tikv-7")
		if w.Model.Intent.Replicas != before {
			t.Errorf("replicas %v, were %v", w.Model.Intent.Replicas, before)
		}
		w.Must(t, 0, "scale", "basic", "tikv=3", "--remove", "tikv-3", "--yes")
		if w.Model.Intent.Replicas == before {
			t.Errorf("replicas are still %v", before)
		}
	})
}

// TestReplaceKilled: a run that is killed while a store leaves is continued by sync, although the stores that are up are
// too few to begin with another one. Or it is called off.
func TestReplaceKilled(t *testing.T) {
	for _, c := range []struct {
		name        string
		first, next []string
		new         bool
	}{
		{"continued", []string{"--all-of", "tikv"}, []string{"sync", "basic", "--yes"}, true},
		{"called off", []string{"tikv-1"}, []string{"replace", "basic", "tikv-1", "--cancel", "--yes"}, false},
		{"finished", []string{"tikv-1"}, []string{"replace", "basic", "--cancel", "--yes"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			scenario(t, sim.Options{PD: 1, TiKV: 4, TiDB: 1}, func(t *testing.T, w *World) {
				before := w.Model.ClaimsOf(topology.TiKV)
				w.Model.KeepRegions(200)
				w.said(w.Killed(t.Context(), w.Model.Leaving, append([]string{"replace", "basic", "--yes"}, c.first...)...))
				w.Must(t, 3, "replace", "basic", "tikv-9", "--cancel")
				w.Must(t, 0, c.next...)
				after := w.Model.ClaimsOf(topology.TiKV)
				for i := range before {
					if all := c.first[0] != "tikv-1"; (after[i] != before[i]) != (c.new && (all || i == 1)) {
						t.Errorf("claims %v, were %v", after, before)
					}
				}
			})
		})
	}
}

// TestReplaceLostNode: the node of a member with a local volume was deleted. Commands say so, with the command that gives
// the member a new volume, and that command does it.
func TestReplaceLostNode(t *testing.T) {
	for _, c := range []struct {
		component topology.Kind
		ordinal   int
		options   sim.Options
		args      []string
	}{
		{topology.TiKV, 3, sim.Options{PD: 3, TiKV: 4, TiDB: 1}, []string{"--away-from", sim.LostNode}},
		{topology.PD, 4, sim.Options{PD: 5, TiKV: 3, TiDB: 1}, []string{"pd-4"}},
	} {
		t.Run(string(c.component), func(t *testing.T) {
			scenario(t, c.options, func(t *testing.T, w *World) {
				before := w.Model.ClaimsOf(c.component)
				w.Model.LoseHost(c.ordinal)
				w.Sleep(time.Minute)
				w.Model.DeleteNode(c.ordinal)
				w.Sleep(3 * time.Minute)
				name := fmt.Sprintf("basic-%s-%d", c.component, c.ordinal)
				lost := fmt.Sprintf("volume pvc-%s can be used only on node %s, which does not exist", before[c.ordinal], sim.LostNode)
				help := "kubectl tidb replace basic " + name
				for _, look := range [][]string{{"status"}, {"why"}, {"doctor"}} {
					args := []string{look[0], "basic"}
					if look[0] == "why" {
						args = append(args, name)
					}
					r := w.said(w.Command(t.Context(), args...))
					wantText(t, r.Out, lost)
					wantText(t, r.Out, help)
				}
				replace := append([]string{"replace", "basic"}, c.args...)
				wantText(t, w.Must(t, 0, append(replace, "--dry-run")...).Out, lost)
				w.Must(t, 0, append(replace, "--yes")...)
				for i, uid := range w.Model.ClaimsOf(c.component) {
					if (uid == before[i]) == (i == c.ordinal) {
						t.Errorf("claim %d is %s, was %s", i, uid, before[i])
					}
				}
				w.Must(t, 0, "sync", "basic")
			})
		})
	}
}

// TestReplaceBalanced: each store waits until the one before has its share of regions. Where PD balances nothing, the run
// ends, and names the limit and the command that goes on without balance.
func TestReplaceBalanced(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 4, TiDB: 1}, func(t *testing.T, w *World) {
		before := w.Model.ClaimsOf(topology.TiKV)
		r := w.Must(t, 0, "replace", "basic", "tikv-3", "tikv-2", "--wait-balanced", "--yes")
		wantText(t, r.Out+r.Err, "basic-tikv-3: regions not balanced: ")
		if after := w.Model.ClaimsOf(topology.TiKV); after[2] == before[2] || after[3] == before[3] {
			t.Errorf("claims %v, were %v", after, before)
		}
		w.Sleep(2 * time.Minute)
		w.Model.Stall(state.Scheduling{NoBalance: true}, 100000)
		text, _ := w.attempt(t, time.Hour, "replace", "basic", "tikv-3", "tikv-1", "--wait-balanced", "--yes")
		wantText(t, text, "PD balances no regions, since its region-schedule-limit is 0")
		wantText(t, text, "kubectl tidb replace basic basic-tikv-1 --wait-balanced=false")
		w.Must(t, 3, "sync", "basic", "--yes")
		w.Must(t, 0, "replace", "basic", "tikv-1", "--wait-balanced=false", "--yes")
		if after := w.Model.ClaimsOf(topology.TiKV); after[1] == before[1] {
			t.Errorf("claims %v, were %v", after, before)
		}
	})
}
