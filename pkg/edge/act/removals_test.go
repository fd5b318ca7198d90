package act

import (
	"slices"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

var (
	takeOffline = step.RemoveStore{Component: topology.TiKV, Member: "basic-tikv-3", StoreID: 4}
	takeBack    = step.RestoreStore{Component: topology.TiKV, Member: "basic-tikv-3", StoreID: 4}
	conclude    = step.ForgetRecord{Component: topology.TiKV, Member: "basic-tikv-3", StoreID: 4, Record: state.RecordRemoval}
)

const (
	takenNow    = `{"member":"basic-tikv-3","since":"2026-07-01T12:00:00Z","owner":"this run","cluster":"7000000000000000001"}`
	takenBefore = `{"member":"basic-tikv-3","since":"2026-07-01T11:00:00Z","owner":"another run"}`
)

func storeState(s pd.StoreState) func(*pd.FakeState) {
	return func(f *pd.FakeState) { f.Stores[3].State, f.Stores[3].StateName = s, s.String() }
}

func removal(record string) map[string]string { return map[string]string{"remove-store.4": record} }

func TestRemoveAndRestoreStore(t *testing.T) {
	w := newFixture(t)
	w.do(t, takeOffline)
	if got := liveLedger(t, w)["remove-store.4"]; got != takenNow {
		t.Errorf("recorded as %q", got)
	}
	w.do(t, takeOffline) // offline already
	w.do(t, takeBack)
	if data := liveLedger(t, w); len(data) != 0 {
		t.Errorf("left in the ledger: %v", data)
	}
	w.do(t, takeBack) // up already
	want := []string{"create configmaps", "patch configmaps", "DeleteStore(4)", "SetStoreState(4, Up)"}
	if got := w.writes(); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// A removal is recorded before PD is asked, so that it is ours also if the answer was lost.
func TestKilledBeforeTheStoreWasRemoved(t *testing.T) {
	w := newFixture(t)
	dies(w, "DeleteStore(4)")
	if err := w.Do(t.Context(), takeOffline); err == nil {
		t.Fatal("PD did not answer")
	}
	if got := liveLedger(t, w)["remove-store.4"]; got != takenNow {
		t.Errorf("the record has to come first, found %q", got)
	}
}

// The start of a removal is kept as long as it is the same removal.
func TestRemovalGoesOn(t *testing.T) {
	w := newFixture(t, ledgerMap(removal(takenBefore)))
	w.do(t, takeOffline)
	if got := liveLedger(t, w)["remove-store.4"]; got != takenBefore {
		t.Errorf("recorded as %q", got)
	}
}

// A store that was taken offline by a person is not recorded as ours, and not brought back.
func TestRemovedByAPerson(t *testing.T) {
	w := newFixture(t)
	w.pd.Update(storeState(pd.StoreOffline))
	w.do(t, takeOffline)
	w.isStale(t, takeBack)
}

func TestKilledBeforeTheRemovalWasForgotten(t *testing.T) {
	w := newFixture(t, ledgerMap(removal(takenBefore)))
	w.pd.Update(storeState(pd.StoreOffline))
	dies(w, "SetStoreState(4, Up)")
	if err := w.Do(t.Context(), takeBack); err == nil {
		t.Fatal("PD did not answer")
	}
	if got := liveLedger(t, w)["remove-store.4"]; got != takenBefore {
		t.Errorf("the record has to go last, found %q", got)
	}
}

func TestConcludeRemoval(t *testing.T) {
	for name, change := range map[string]func(*pd.FakeState){
		"it is a tombstone":  storeState(pd.StoreTombstone),
		"PD has no such one": func(s *pd.FakeState) { s.Stores = s.Stores[:3] },
		"it never began":     storeState(pd.StoreUp),
	} {
		w := newFixture(t, ledgerMap(removal(takenBefore)))
		w.pd.Update(change)
		w.do(t, conclude)
		if data := liveLedger(t, w); len(data) != 0 {
			t.Errorf("%s: left in the ledger: %v", name, data)
		}
		w.do(t, conclude)
	}
	w := newFixture(t, ledgerMap(removal(takenBefore)))
	w.pd.Update(storeState(pd.StoreOffline))
	w.isStale(t, conclude)
	newFixture(t).do(t, conclude) // there is no ledger
}

// The record of an eviction is kept while the eviction lasts: without it the eviction would never
// end.
func TestConcludeEviction(t *testing.T) {
	s := step.ForgetRecord{Component: topology.TiKV, Member: "basic-tikv-1", StoreID: 2, Record: state.RecordEviction}
	w := newFixture(t, ledgerMap(map[string]string{"evict-leader.2": fromThisRun}))
	w.isStale(t, s)
	w = newFixture(t, ledgerMap(map[string]string{"evict-leader.2": `{"member":"basic-tikv-1","ended":"2026-07-01T11:00:00Z"}`}))
	w.do(t, s)
	if data := liveLedger(t, w); len(data) != 0 {
		t.Errorf("left in the ledger: %v", data)
	}
}
