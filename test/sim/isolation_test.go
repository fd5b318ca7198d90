package sim

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

// TestIsolation: PD's counts are as old as its last pass, and a new leader begins again.
func TestIsolation(t *testing.T) {
	const all = regions * crowd
	pass := passTime * time.Second
	for name, c := range map[string]struct {
		options Options
		change  func(*Model)
		pass    int
		want    Isolation
	}{
		"each in a zone": {Options{Isolated: true}, func(*Model) {}, passTime, Isolation{Apart: map[string]int{"zone": all}, Pass: pass}},
		"no labels":      {Options{}, func(*Model) {}, passTime, Isolation{Apart: map[string]int{"none": all}, Pass: pass}},
		"PD's rules have changed": {Options{Isolated: true}, func(w *Model) { w.rules.isolated = false }, passTime,
			Isolation{Apart: map[string]int{"none": all}, Pass: pass}},
		"in the same zone": {Options{Isolated: true}, func(w *Model) {
			w.Zones = []int{0, 0, 1, 2}
			for i := range w.regions {
				w.regions[i].replicas = slices.Clone(w.stores[:3])
			}
		}, passTime, Isolation{Apart: map[string]int{"none": all}, Pass: pass}},
		"since a moment": {Options{Isolated: true}, func(w *Model) {
			w.patrolAgain()
			w.Pass(passTime)
			w.rules.isolated = false
		}, passTime - 1, Isolation{Apart: map[string]int{"zone": all}, Pass: pass}},
		"a new leader":                {Options{}, func(w *Model) { w.led() }, passTime - 1, Isolation{}},
		"a new leader, later":         {Options{}, func(w *Model) { w.led() }, passTime, Isolation{Apart: map[string]int{"none": all}, Pass: pass}},
		"a new leader that is halted": {Options{}, func(w *Model) { w.led(); w.pd.stall.Halted, w.pd.stall.until = true, never }, 100, Isolation{}},
		"a store does not run": {Options{}, func(w *Model) {
			w.lose(w.pods[tikv][1], 200)
			w.patrolAgain()
		}, passTime, Isolation{Apart: map[string]int{"none": all}, Pending: 900, Pass: pass}},
	} {
		c.options.PD, c.options.TiKV, c.options.TiDB = 3, 4, 1
		w := settled(c.options)
		w.Pass(600)
		c.change(w)
		w.Pass(c.pass)
		if got := w.Isolation(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
	if n := settled(Options{PD: 3, TiKV: 4, TiDB: 1}).RegionCount(); n != all {
		t.Errorf("%d regions", n)
	}
}

// TestIsolationOfStoresThatLeave: regions that lack a replica, and those with one on a store that leaves or that PD
// calls Down.
func TestIsolationOfStoresThatLeave(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
	w.regions[0].replicas = slices.Clone(w.stores[:2])
	w.pd.stall.NoReplicas, w.pd.stall.until = true, never
	w.stores[0].state = "Offline"
	w.stores[1].heartbeat, w.stores[1].muffled = w.t-downAfter-1, never
	w.patrolAgain()
	w.Pass(passTime)
	want := Isolation{
		Apart: map[string]int{"none": regions * crowd}, Missing: crowd, Down: regions * crowd, Offline: regions * crowd, Pass: passTime * time.Second,
	}
	if got := w.Isolation(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	flash := settled(Options{PD: 3, TiKV: 3, TiDB: 1, TiFlash: 1, Learners: 1})
	flash.asks = 2 // there is one store for them
	flash.patrolAgain()
	flash.Pass(passTime)
	if got := flash.Isolation(); got.Missing != tables*crowd {
		t.Errorf("TiFlash: %+v", got)
	}
}
