package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// TestReplace: under a client that writes, all stores of a cluster with no store to spare and PD's members get new
// volumes, of another storage class. The first run is killed while a store leaves, and sync goes on. Then PD's members
// get a volume more, each with a new pod that mounts it.
func TestReplace(t *testing.T) {
	t.Parallel()
	s := newEnvironment(t, "e2e-replace")
	s.otherVolumes(t)
	const stores = "  tidb: {baseImage: pingcap/tidb, replicas: 1, config: {}}\n" +
		"  tikv: {baseImage: pingcap/tikv, replicas: 3, requests: {storage: 1Gi}, config: {}"
	s.apply(t, "  pd: {baseImage: pingcap/pd, replicas: 3, requests: {storage: 2Gi}, config: {}}\n"+stores+"}")
	db, writer := s.writes(t, "renewed")
	before, pods := s.claimUIDs(t), s.podUIDs(t)
	s.tidb(t, 3, "replace", cluster, "tikv-1", "--yes")
	s.tidb(t, 0, "replace", cluster, "tikv-1", "--spare", "--dry-run")
	if now := s.claimUIDs(t); len(now) != len(before) {
		t.Fatalf("claims after a refusal and a dry run: %v, were %v", now, before)
	}
	s.until(t, syscall.SIGKILL, func(e event.Event) bool { return e.Action == "RemoveStore" && e.Type == event.Finished },
		"replace", cluster, "--all-of", "tikv", "--spare", "--storage-class", otherClass, "--yes")
	s.tidb(t, 0, "sync", cluster, "--yes")
	s.wantConverged(t, 3, 3, 1, from)
	file := filepath.Join(t.TempDir(), cluster+".yaml")
	smaller := manifest("  pd: {baseImage: pingcap/pd, replicas: 3, storageClassName: " + otherClass + ", requests: {storage: 1Gi}, config: {}}\n" +
		stores + ", storageClassName: " + otherClass + "}")
	if err := os.WriteFile(file, []byte(smaller), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := s.tidb(t, 3, "apply", "-f", file); !strings.Contains(r.Stderr, "--yes") {
		t.Errorf("claims would be deleted without consent: %s", r.Stderr)
	}
	s.tidb(t, 0, "apply", "-f", file, "--yes")
	s.wantConverged(t, 3, 3, 1, from)
	s.wantClass(t, before, otherClass, "1Gi")
	after := s.claimUIDs(t)
	for name, uid := range before {
		if after[name] == uid || after[name] == "" {
			t.Errorf("%s is the claim %q, and was %q", name, after[name], uid)
		}
	}
	if server := cluster + "-tidb-0"; s.podUIDs(t)[server] != pods[server] {
		t.Error("the TiDB server was restarted")
	}
	logs := strings.Replace(smaller, "requests:", "storageVolumes: [{name: log, storageSize: 1Gi, mountPath: /var/log/pd}], requests:", 1)
	if err := os.WriteFile(file, []byte(logs), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := s.tidb(t, 3, "apply", "-f", file, "--yes"); !strings.Contains(r.Stderr, "volume pd-log can not be added") {
		t.Errorf("a volume was added: %s", r.Stderr)
	}
	s.wantRows(t, db, writer, "renewed")
	db.Close()
}

// otherClass is the storage class that members are moved to.
const otherClass = "e2e-other"

// otherVolumes makes a second storage class with volumes for the members of a cluster.
func (s environment) otherVolumes(t *testing.T) {
	t.Helper()
	const folder = "/tmp/kubectl-tidb-e2e-volumes"
	remove := func(wait string) {
		for _, what := range []string{"pv", "storageclass"} {
			if _, err := s.Kubectl(context.WithoutCancel(t.Context()), "", "delete", what, "-l", mark, "--wait="+wait); err != nil {
				t.Error(err)
			}
		}
	}
	remove("true")
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove("false") })
	objects := "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: " + otherClass + ", labels: {" + mark + ": 'yes'}}\n" +
		"provisioner: kubernetes.io/no-provisioner\n"
	for i := range 14 {
		name := fmt.Sprintf("%s-%d", otherClass, i)
		objects += "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: " + name + ", labels: {" + mark + ": 'yes'}}\n" +
			"spec:\n  capacity: {storage: 1Gi}\n  accessModes: [ReadWriteOnce]\n  storageClassName: " + otherClass + "\n" +
			"  hostPath: {path: " + filepath.Join(folder, name) + ", type: DirectoryOrCreate}\n"
	}
	kubectl(t, objects, "create", "-f", "-")
}

// wantClass asserts that claims have a storage class and a size. The claim that the spare store has left is none of
// these.
func (s environment) wantClass(t *testing.T, names map[string]string, class, size string) {
	t.Helper()
	list, err := s.Kube.CoreV1().PersistentVolumeClaims(s.plugin.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) == 0 {
		t.Fatal(list, err)
	}
	for _, c := range list.Items {
		if names[c.Name] == "" {
			continue
		}
		have := c.Spec.Resources.Requests.Storage().String()
		if c.Spec.StorageClassName == nil || *c.Spec.StorageClassName != class || have != size {
			t.Errorf("claim %s: class %v, %s, want %s, %s", c.Name, *c.Spec.StorageClassName, have, class, size)
		}
	}
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
