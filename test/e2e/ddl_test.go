package e2e

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// wantDDLNotPaused asserts what an upgrade does about DDL statements with the TiDB of the node. That TiDB is older than
// its tag says, and does not know of pauses: TiDB was asked once, a notice says why, and the TidbCluster has no record
// of a pause.
func (s environment) wantDDLNotPaused(t *testing.T, events []event.Event) {
	t.Helper()
	asked, noticed := 0, 0
	for _, e := range events {
		if e.Type == event.Finished && e.Action == "BeginDDLPause" {
			asked++
		}
		if e.Type == event.Notice && e.Reason == string(event.DDLNotPaused) {
			noticed++
		}
	}
	if asked != 1 || noticed != 1 {
		t.Errorf("asked %d times for a pause of DDL, with %d notices: %s", asked, noticed, texts(events))
	}
	tc, err := s.clusters().Get(t.Context(), cluster, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for key := range tc.GetAnnotations() {
		if slices.Contains(topology.DDLPauseAnnotations(), key) {
			t.Errorf("the TidbCluster has %s, and TiDB has no pause", key)
		}
	}
}
