package e2e

import (
	"context"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

const (
	// silent is after how long PD calls a store Down, here.
	silent = 10 * time.Second
	// failoverPeriod is for how long a member has to be down, and a store to be Down,
	// to be given up.
	failoverPeriod = 5 * time.Minute
)

// TestResumed: no member is given up after a suspension that was longer than the failover period,
// although PD has received no heartbeat for that long, and only the first pods exist.
func TestResumed(t *testing.T) {
	s := newEnvironment(t, "e2e-resumed")
	s.apply(t, "  podManagementPolicy: OrderedReady\n"+
		"  pd: {baseImage: pingcap/pd, replicas: 3, requests: {storage: 1Gi}, config: {}}\n"+
		"  tikv: {baseImage: pingcap/tikv, replicas: 4, requests: {storage: 1Gi}, config: {}}\n"+
		"  tidb: {baseImage: pingcap/tidb, replicas: 1, config: {}, service: {type: ClusterIP}, initializer: {createPassword: true}}")
	s.wantConverged(t, 3, 4, 1, from)
	s.wantFirstPassword(t)
	client := s.pdClient()
	defer client.Close()
	s.person(t).do(t, http.MethodPost, "config", map[string]any{"max-store-down-time": silent.String()})
	if after, err := client.MaxStoreDownTime(t.Context()); err != nil || after != silent {
		t.Fatalf("PD calls a store Down after %v (%v), want %v", after, err, silent)
	}
	s.patchCluster(t, `{"spec":{"suspendAction":{"suspendStatefulSet":true}}}`)
	s.tidb(t, 0, "sync", cluster)
	awaitNoPods(t, s.plugin.Namespace, "app.kubernetes.io/instance="+cluster)
	suspended := time.Now()

	t.Parallel() // The other tests run now, and this one goes on when those that run alone are over.
	enough := silent + failoverPeriod + 10*time.Second
	poll(t, patience+enough, "suspended for long enough", func(context.Context) bool { return time.Since(suspended) > enough })
	t.Logf("suspended for %v", time.Since(suspended).Round(time.Second))
	s.patchCluster(t, `{"spec":{"suspendAction":null}}`)
	// It gives up the members that are due.
	events := s.driven(t, 0, "failover", cluster, "run")
	for _, e := range events {
		if e.Action == "RecordFailure" {
			t.Errorf("%s: %s", e.Member, e.Step)
		}
	}
	s.wantConverged(t, 3, 4, 1, from)
	s.wantNoFailures(t)
	if n, err := client.Stores(t.Context(), pd.StoreUp, pd.StoreOffline, pd.StoreTombstone); err != nil || len(n) != 4 {
		t.Errorf("PD has %d stores in all, want the 4 there were (%v)", len(n), err)
	}
}

// wantNoFailures asserts that the TidbCluster has no record of a failover.
func (s environment) wantNoFailures(t *testing.T) {
	t.Helper()
	tc, err := s.clusters().Get(t.Context(), cluster, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range [][]string{{"pd", "failureMembers"}, {"tikv", "failureStores"}, {"tidb", "failureMembers"}} {
		if records, _, _ := unstructured.NestedMap(tc.Object, append([]string{"status"}, at...)...); len(records) > 0 {
			t.Errorf("status.%s.%s: %v", at[0], at[1], records)
		}
	}
}
