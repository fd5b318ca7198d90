package wire

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// hasLogs is a cluster whose servers have a volume for logs.
const hasLogs = `apiVersion: pingcap.com/v1alpha1
kind: TidbCluster
metadata: {name: basic}
spec:
  version: v8.1.0
  pd: {baseImage: pingcap/pd, replicas: 1, requests: {storage: 1Gi}, config: {}}
  tikv: {baseImage: pingcap/tikv, replicas: 3, requests: {storage: 1Gi}, config: {}}
  tidb:
    {baseImage: pingcap/tidb, replicas: 3, config: {},
    storageVolumes: [{name: log, storageSize: 2Gi, mountPath: /log}]}
`

// withLogs runs a script in a world with the cluster hasLogs.
func withLogs(t *testing.T, script func(t *testing.T, w *World)) {
	t.Helper()
	withCluster(t, hasLogs, sim.Options{PD: 1, TiKV: 3, TiDB: 3, Seed: 1}, script)
}

// setLogs is a person who changes the volume for logs of servers with kubectl.
func (w *World) setLogs(class, size string) {
	w.changeCluster(func(tc *unstructured.Unstructured) {
		all := []any{map[string]any{"name": "log", "storageSize": size, "mountPath": "/log", "storageClassName": class}}
		_ = unstructured.SetNestedSlice(tc.Object, all, "spec", "tidb", "storageVolumes")
	})
}

// mostDown counts, in each second, the servers that are not Ready, and keeps the highest number.
func (w *World) mostDown(most *int) func() bool {
	return func() bool {
		down := 3
		for _, p := range w.pods(topology.TiDB) {
			ready := slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			})
			if ready && p.DeletionTimestamp == nil {
				down--
			}
		}
		*most = max(*most, down)
		return false
	}
}

// TestServersWithNewVolumes: the volume for logs of all servers gets another storage class, and then a smaller size. Each
// is refused after kubectl, and the command that is named carries it out, one server at a time. A server that a user
// names gets a new volume alone.
func TestServersWithNewVolumes(t *testing.T) {
	withLogs(t, func(t *testing.T, w *World) {
		for _, c := range []struct{ class, size, says string }{
			{"class-1", "2Gi", "only a new volume can have class class-1"},
			{"class-1", "1Gi", "volumes can not shrink to 1Gi"},
		} {
			w.setLogs(c.class, c.size)
			text, writes := w.attempt(t, time.Minute, "sync", "basic", "--yes")
			wantText(t, text, c.says)
			wantText(t, text, "kubectl tidb replace basic --all-of tidb")
			wantNone(t, writes, "DELETE", "")
			before, most := w.Model.ClaimsOf(topology.TiDB), 0
			w.said(w.Killed(t.Context(), w.mostDown(&most), "replace", "basic", "--all-of", "tidb", "--yes"))
			w.wantClaims(t, topology.TiDB, c.class, c.size)
			for i, uid := range w.Model.ClaimsOf(topology.TiDB) {
				if uid == before[i] {
					t.Errorf("server %d has its old claim", i)
				}
			}
			if most != 1 {
				t.Errorf("%d servers were down at once", most)
			}
			w.Must(t, 0, "sync", "basic")
		}
		before := w.Model.ClaimsOf(topology.TiDB)
		w.Must(t, 0, "replace", "basic", "tidb-1", "--yes")
		after := w.Model.ClaimsOf(topology.TiDB)
		if after[0] != before[0] || after[1] == before[1] || after[2] != before[2] {
			t.Errorf("claims %v, were %v", after, before)
		}
	})
}

// TestServersWithNewVolumesKilled: a run is killed when the claim of a server is deleted and its pod is not yet, and when
// the pod is. Sync goes on, and no two servers are down at once. Claims of servers that nobody has named stay.
func TestServersWithNewVolumesKilled(t *testing.T) {
	for name, when := range map[string]func(*World) bool{
		"its claim is deleted": func(w *World) bool { return w.leavingClaims() > 0 },
		"its pod is deleted": func(w *World) bool {
			return slices.ContainsFunc(w.pods(topology.TiDB), func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			withLogs(t, func(t *testing.T, w *World) {
				before, most := w.Model.ClaimsOf(topology.TiDB), 0
				down := w.mostDown(&most)
				killed := false
				w.said(w.Killed(t.Context(), func() bool { down(); killed = killed || when(w); return killed }, "replace", "basic", "tidb-2", "tidb-0", "--yes"))
				if !killed {
					t.Fatal("the run was not killed")
				}
				if left := w.Model.ClaimsOf(topology.TiDB); left[0] != before[0] {
					t.Errorf("the first claim of %v was replaced before the run was killed", before)
				}
				w.said(w.Killed(t.Context(), down, "sync", "basic", "--yes"))
				after := w.Model.ClaimsOf(topology.TiDB)
				if after[0] == before[0] || after[1] != before[1] || after[2] == before[2] {
					t.Errorf("claims %v, were %v", after, before)
				}
				if most != 1 {
					t.Errorf("%d servers were down at once", most)
				}
				w.Must(t, 0, "sync", "basic")
			})
		})
	}
}

// TestServersWithNewVolumesCalledOff: a change of all servers is called off while a claim is being deleted. Only that
// server is finished, and later runs are not refused.
func TestServersWithNewVolumesCalledOff(t *testing.T) {
	withLogs(t, func(t *testing.T, w *World) {
		before := w.Model.ClaimsOf(topology.TiDB)
		w.setLogs("class-1", "1Gi")
		w.said(w.Killed(t.Context(), func() bool { return w.leavingClaims() > 0 }, "replace", "basic", "--all-of", "tidb", "--yes"))
		w.Must(t, 0, "replace", "basic", "--cancel", "--yes")
		w.Must(t, 0, "sync", "basic", "--yes")
		if after := w.Model.ClaimsOf(topology.TiDB); !slices.Equal(after[:2], before[:2]) || after[2] == before[2] {
			t.Errorf("claims %v, were %v", after, before)
		}
	})
}

// leavingClaims returns how many claims of servers are being deleted.
func (w *World) leavingClaims() int {
	n := 0
	for _, c := range w.Model.ShownClaims(topology.TiDB) {
		if c.Terminating {
			n++
		}
	}
	return n
}

// TestServersWithNewVolumesApplied: apply asks for consent, and gives all servers new volumes. A server without claims is
// refused, and the refusal names the restart.
func TestServersWithNewVolumesApplied(t *testing.T) {
	withLogs(t, func(t *testing.T, w *World) {
		file := filepath.Join(t.TempDir(), "other.yaml")
		other := []byte(strings.Replace(hasLogs, "storageSize: 2Gi", "storageClassName: class-1, storageSize: 1Gi", 1))
		if err := os.WriteFile(file, other, 0o600); err != nil {
			t.Fatal(err)
		}
		w.Must(t, 0, "apply", "-f", file, "--yes")
		w.wantClaims(t, topology.TiDB, "class-1", "1Gi")
	})
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 2}, func(t *testing.T, w *World) {
		text, writes := w.attempt(t, time.Minute, "replace", "basic", "--all-of", "tidb", "--yes")
		wantText(t, text, "basic-tidb-0 has no claims now")
		wantText(t, text, "kubectl tidb restart basic basic-tidb-0")
		wantNone(t, writes, "PATCH", "tidbclusters")
	})
}
