package sim

import "testing"

// deleteAll is a person who deletes the TidbCluster and makes it once more: everything that it owns goes, data and
// open records stay, and its status, with the id of the PD cluster, is lost.
func (w *Model) deleteAll() {
	w.note("user: the cluster is deleted and created again")
	for k := range w.sets {
		if set := &w.sets[k]; set.exists {
			set.leaving = true
			set.generation++
			w.tellable[k] = members{replicas: limit}
		}
	}
	w.recorded = 0
}

// TestDeletedDuringAnEviction: a cluster that is deleted in the middle of an eviction, with its data kept, finds what
// it has begun in PD when it is created again, and ends that.
func TestDeletedDuringAnEviction(t *testing.T) {
	for _, step := range []string{"evict region leaders from basic-tikv-1", "allow region leaders on basic-tikv-2"} {
		w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
		w.Upgrade("v2")
		w.OnStep(step, w.deleteAll)
		fine(t, w)
		if !inTranscript(w, "deleted and created again") {
			t.Fatalf("%s: the cluster was not deleted\n%s", step, w.Transcript())
		}
		if len(w.ledger) > 0 || len(w.evicts) > 0 {
			t.Errorf("%s: %d records, %d schedulers\n%s", step, len(w.ledger), len(w.evicts), w.Transcript())
		}
	}
}
