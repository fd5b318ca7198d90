package act

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// TestRecordsOfAnotherPDCluster: a record that is older than the PD cluster is never trusted, since ids of stores are
// small numbers. The scheduler and the Offline store of somebody else stay.
func TestRecordsOfAnotherPDCluster(t *testing.T) {
	old := strings.Replace(fromThisRun, "7000000000000000001", "6", 1)
	left := ledgerMap(map[string]string{"evict-leader.2": old, "remove-store.4": strings.Replace(takenNow, "7000000000000000001", "6", 1)})
	left.OwnerReferences = nil
	w := newFixture(t, left)
	w.pd.Update(evicting(2))
	w.do(t, allow)
	w.unchanged(t)
	w.do(t, step.ForgetRecord{Member: "basic-tikv-1", StoreID: 2, Record: state.RecordEviction})
	w.unchanged(t)
	var stale *Stale
	if err := w.stillEvicting(t.Context(), step.Restart{StoreID: 2}); !errors.As(err, &stale) {
		t.Errorf("a restart relies on the scheduler of somebody else: %v", err)
	}
	w.do(t, evict)
	if got := liveLedger(t, w)["evict-leader.2"]; !strings.Contains(got, `"foreign":true`) || !strings.Contains(got, "7000000000000000001") {
		t.Errorf("recorded as %s", got)
	}
	w.do(t, allow)
	if writes := w.pd.Writes(); len(writes) > 0 {
		t.Errorf("the scheduler of somebody else was changed: %q", writes)
	}
}

// TestTrustNeedsPD: while PD does not say which cluster it is, nothing is done about a record that is tied to one.
func TestTrustNeedsPD(t *testing.T) {
	w := newFixture(t, ledgerMap(map[string]string{"evict-leader.2": fromThisRun}))
	w.pd.Update(evicting(2))
	dies(w, "ClusterID()")
	if err := w.Do(t.Context(), allow); err == nil {
		t.Error("a record was trusted that may be of another cluster")
	}
	w.unchanged(t)
}

// TestLedgerOutlivesItsTidbCluster: as long as there is a record of something in PD, the ledger has no owner. A record
// that an older version has written is tied to the PD cluster before that, and the owner is back with the last one.
func TestLedgerOutlivesItsTidbCluster(t *testing.T) {
	w := newFixture(t, ledgerMap(map[string]string{
		"evict-leader.3": strings.Replace(fromAnotherRun, "tikv-1", "tikv-2", 1), "template.tikv": `{"version":1,"spec":"a","pods":"b"}`, "pause-gc.1": "{}",
	}))
	owners := func() int {
		cm, err := w.kube.CoreV1().ConfigMaps("db").Get(t.Context(), "basic-ledger", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return len(cm.OwnerReferences)
	}
	w.do(t, evict)
	if got := liveLedger(t, w)["evict-leader.3"]; owners() != 0 || !strings.Contains(got, `"cluster":"7000000000000000001"`) {
		t.Errorf("%d owners, and the older record is %s", owners(), got)
	}
	w.do(t, allow)
	if owners() != 0 {
		t.Error("the ledger would go with its TidbCluster, and the older scheduler stay")
	}
	w.do(t, step.AllowLeaders{Member: "basic-tikv-2", StoreID: 3})
	if owners() != 0 {
		t.Error("a record that only a later version knows would go")
	}
	if err := w.patchLedger(t.Context(), map[string]any{"data": map[string]any{"pause-gc.1": nil}}); err != nil {
		t.Fatal(err)
	}
	w.do(t, evict)
	w.do(t, allow)
	if got := slices.Sorted(maps.Keys(liveLedger(t, w))); owners() != 1 || !slices.Equal(got, []string{"template.tikv"}) {
		t.Errorf("%d owners, %q", owners(), got)
	}
}
