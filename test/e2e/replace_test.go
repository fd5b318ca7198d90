package e2e

import (
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// TestReplace: under a client that writes, all stores of a cluster with no store to spare and PD's members get new
// volumes. The first run is killed while a store leaves, and sync goes on.
func TestReplace(t *testing.T) {
	t.Parallel()
	s := newEnvironment(t, "e2e-replace")
	s.apply(t, "  pd: {baseImage: pingcap/pd, replicas: 3, requests: {storage: 1Gi}, config: {}}\n"+
		"  tikv: {baseImage: pingcap/tikv, replicas: 3, requests: {storage: 1Gi}, config: {}}\n"+
		"  tidb: {baseImage: pingcap/tidb, replicas: 1, config: {}}")
	db, writer := s.writes(t, "renewed")
	before, pods := s.claimUIDs(t), s.podUIDs(t)
	s.tidb(t, 3, "replace", cluster, "tikv-1", "--yes")
	s.tidb(t, 0, "replace", cluster, "tikv-1", "--spare", "--dry-run")
	if now := s.claimUIDs(t); len(now) != len(before) {
		t.Fatalf("claims after a refusal and a dry run: %v, were %v", now, before)
	}
	s.until(t, syscall.SIGKILL, func(e event.Event) bool { return e.Action == "RemoveStore" && e.Type == event.Finished },
		"replace", cluster, "--all-of", "tikv", "--spare", "--yes")
	s.tidb(t, 0, "sync", cluster, "--yes")
	s.wantConverged(t, 3, 3, 1, from)
	s.tidb(t, 0, "replace", cluster, "--all-of", "pd", "--yes")
	s.wantConverged(t, 3, 3, 1, from)
	after := s.claimUIDs(t)
	for name, uid := range before {
		if after[name] == uid || after[name] == "" {
			t.Errorf("%s is the claim %q, and was %q", name, after[name], uid)
		}
	}
	if server := cluster + "-tidb-0"; s.podUIDs(t)[server] != pods[server] {
		t.Error("the TiDB server was restarted")
	}
	s.wantRows(t, db, writer, "renewed")
	db.Close()
}

// claimUIDs returns the UIDs of the claims that are not marked as left over, by their names.
func (s environment) claimUIDs(t *testing.T) map[string]string {
	t.Helper()
	list, err := s.Kube.CoreV1().PersistentVolumeClaims(s.plugin.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, c := range list.Items {
		all[c.Name] = string(c.UID)
	}
	return all
}
