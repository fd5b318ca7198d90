package wire

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// TestStoreElsewhereDown: a store of another TidbCluster that has replicas of the same regions is down. No store here
// is restarted, and none leaves, before that store is back.
func TestStoreElsewhereDown(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 4, TiDB: 1, StoresElsewhere: 1}, func(t *testing.T, w *World) {
		w.Model.StopElsewhere(3600)
		w.Sleep(time.Minute)
		for _, change := range [][]string{{"restart", "basic", "tikv"}, {"scale", "basic", "tikv=3"}} {
			text, writes := w.attempt(t, 30*time.Second, append(change, "--yes")...)
			wantText(t, text, "no member of this cluster: other-tikv-")
			wantNone(t, writes, "DELETE", pods)
			wantNone(t, writes, "POST", schedulers)
			wantNone(t, writes, "DELETE", stores)
		}
		w.Model.StopElsewhere(0)
		w.Must(t, 0, "sync", "basic", "--yes")
	})
}

// TestOldReportOfAStore: by an old report of its kubelet a store does not run, nothing reaches it through that kubelet,
// and PD has a new leader that has heard of no store yet. The store serves with its leaders, so it is not restarted as
// one that takes nothing away.
func TestOldReportOfAStore(t *testing.T) {
	scenario(t, sim.Options{PD: 3, TiKV: 3, TiDB: 1, Faults: sim.Faults{Saved: true}}, func(t *testing.T, w *World) {
		w.Sleep(5 * time.Minute) // the heartbeats that PD has saved are old
		w.Model.ReportOld(topology.TiKV, 2, 90)
		w.Model.Resign()
		_, writes := w.attempt(t, time.Minute, "restart", "basic", "tikv", "--yes")
		wantNone(t, writes, "DELETE", pods)
		w.Must(t, 0, "sync", "basic", "--yes")
	})
}

// TestStoreUnderAnotherAddress: PD lists a store under an address that is the address of no pod. The store serves with
// its leaders, so it is not restarted as one whose data nobody uses.
func TestStoreUnderAnotherAddress(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		w.Model.Unlist(topology.TiKV, 2, 60)
		text, writes := w.attempt(t, 30*time.Second, "restart", "basic", "tikv", "--yes")
		wantText(t, text, "PD lists no store at the address of its pod")
		wantNone(t, writes, "DELETE", pods)
		w.Sleep(time.Minute)
		w.Must(t, 0, "sync", "basic", "--yes")
	})
}
