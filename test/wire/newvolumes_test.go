package wire

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
	"github.com/kubectl-tidb/kubectl-tidb/test/wire/kubernetes"
)

// TestNewVolumes: all members of a component get volumes of another storage class and of a smaller size. What no claim
// can follow is refused in a TidbCluster that a person has changed, and the command that is named goes on.
func TestNewVolumes(t *testing.T) {
	scenario(t, sim.Options{PD: 3, TiKV: 4, TiDB: 1}, func(t *testing.T, w *World) {
		text, writes := w.attempt(t, time.Minute, "replace", "basic", "--all-of", "tikv", "--storage-class", "none", "--yes")
		wantText(t, text, "the storage classes are class-1, standard")
		wantNone(t, writes, "PATCH", "tidbclusters")

		text, _ = w.attempt(t, time.Minute, "replace", "basic", "--all-of", "tikv", "--storage", "512Mi", "--dry-run")
		wantText(t, text, "basic-tikv-0 has 20Gi of data, and PD moves no regions to a store of 512Mi that is more than 80% full")
		shown := w.Must(t, 0, "replace", "basic", "--all-of", "tikv", "--storage-class", "class-1", "--storage", "2Gi", "--dry-run").Out
		t.Log(shown)
		wantText(t, shown, "new volumes tikv of class class-1 and 2Gi in place of class (default) and 1Gi")
		w.Must(t, 0, "replace", "basic", "--all-of", "tikv", "--storage-class", "class-1", "--storage", "2Gi", "--yes")
		w.wantClaims(t, topology.TiKV, "class-1", "2Gi")
		done := w.Model.ClaimsOf(topology.TiKV)
		w.Must(t, 0, "replace", "basic", "--all-of", "tikv", "--storage-class", "class-1", "--storage", "2Gi", "--yes")
		if now := w.Model.ClaimsOf(topology.TiKV); !slices.Equal(now, done) {
			t.Errorf("the repeated command has replaced claims: %v, were %v", now, done)
		}

		w.changeCluster(func(tc *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(tc.Object, "class-1", "spec", "pd", "storageClassName")
		})
		text, writes = w.attempt(t, time.Minute, "sync", "basic", "--yes")
		wantText(t, text, "only a new volume can have class class-1")
		wantText(t, text, "kubectl tidb replace basic --all-of pd")
		wantNone(t, writes, "DELETE", "")
		w.Must(t, 0, "replace", "basic", "--all-of", "pd", "--storage", "2Gi", "--yes")
		w.wantClaims(t, topology.PD, "class-1", "2Gi")
		text, _ = w.attempt(t, time.Minute, "replace", "basic", "pd-0", "--storage", "1Gi", "--yes")
		wantText(t, text, "go with --all-of COMPONENT alone")
		w.Must(t, 0, "replace", "basic", "--all-of", "pd", "--storage", "1Gi", "--yes")
		w.wantClaims(t, topology.PD, "class-1", "1Gi")
		w.Must(t, 0, "sync", "basic")
	})
}

// TestNewVolumesKilled: a run is killed while the first store leaves. Sync goes on with the new volumes, and so does the
// same command.
func TestNewVolumesKilled(t *testing.T) {
	moves := []string{"replace", "basic", "--all-of", "tikv", "--storage-class", "class-1", "--yes"}
	for name, again := range map[string][]string{"sync": {"sync", "basic", "--yes"}, "the same command": moves} {
		t.Run(name, func(t *testing.T) {
			scenario(t, sim.Options{PD: 1, TiKV: 4, TiDB: 1}, func(t *testing.T, w *World) {
				w.Model.KeepRegions(200)
				w.said(w.Killed(t.Context(), w.Model.Leaving, moves...))
				w.Must(t, 0, again...)
				w.wantClaims(t, topology.TiKV, "class-1", "1Gi")
			})
		})
	}
}

// TestNewVolumesCalledOff: a change of the volumes is called off before the StatefulSet has other claim templates, and
// after that. A rollback, which would replace members once more, is refused.
func TestNewVolumesCalledOff(t *testing.T) {
	for name, when := range map[string]func(*World) func() bool{
		"before the first store leaves": func(w *World) func() bool { return func() bool { return w.cancelable() } },
		"while a store leaves":          func(w *World) func() bool { return w.Model.Leaving },
	} {
		t.Run(name, func(t *testing.T) {
			scenario(t, sim.Options{PD: 1, TiKV: 4, TiDB: 1}, func(t *testing.T, w *World) {
				w.Model.KeepRegions(200)
				before := w.Model.ClaimsOf(topology.TiKV)
				w.said(w.Killed(t.Context(), when(w), "replace", "basic", "--all-of", "tikv", "--storage-class", "class-1", "--yes"))
				text, _ := w.attempt(t, time.Minute, "rollback", "basic", "--yes")
				wantText(t, text, "replace --cancel calls off those that wait")
				w.Must(t, 0, "replace", "basic", "--cancel", "--yes")
				w.Must(t, 0, "sync", "basic", "--yes")
				if after := w.Model.ClaimsOf(topology.TiKV); !slices.Equal(after[:3], before[:3]) {
					t.Errorf("claims %v, were %v", after, before)
				}
			})
		})
	}
}

// TestNewVolumesWithASpare: the StatefulSet is made again before the spare store is added, so that no claim of the old
// class is made.
func TestNewVolumesWithASpare(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		w.Must(t, 0, "replace", "basic", "--all-of", "tikv", "--storage-class", "class-1", "--spare", "--yes")
		w.wantClaims(t, topology.TiKV, "class-1", "1Gi") // and so has the claim that the spare store has left
	})
}

// TestNewVolumesNotNamed: one member waits for its replacement, and another tool writes another storage class. The claims
// that nobody has named are refused, and the command that is named goes on with all of them.
func TestNewVolumesNotNamed(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 4, TiDB: 1}, func(t *testing.T, w *World) {
		w.said(w.Killed(t.Context(), w.cancelable, "replace", "basic", "tikv-2", "--yes"))
		w.changeCluster(func(tc *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(tc.Object, "class-1", "spec", "tikv", "storageClassName")
		})
		text, writes := w.attempt(t, time.Minute, "sync", "basic", "--yes")
		wantText(t, text, "only a new volume can have class class-1")
		wantText(t, text, "kubectl tidb replace basic --all-of tikv")
		wantNone(t, writes, "DELETE", "")
		w.Must(t, 0, "replace", "basic", "--all-of", "tikv", "--yes")
		w.wantClaims(t, topology.TiKV, "class-1", "1Gi")
	})
}

// TestOtherVolumes: a volume of all stores is mounted elsewhere, and removed. Each time the members are replaced one after
// another, and no other restart gives a store volumes without its data. A volume that is added is refused.
func TestOtherVolumes(t *testing.T) {
	withWAL(t, func(t *testing.T, w *World) {
		before := w.Model.ClaimsOf(topology.TiKV)
		for _, path := range []string{"/var/wal", ""} {
			w.addWAL(path)
			text, writes := w.attempt(t, time.Minute, "sync", "basic", "--yes")
			wantText(t, text, "only a member that is replaced can have these")
			wantNone(t, writes, "DELETE", "")
			shown := w.Must(t, 0, "replace", "basic", "--all-of", "tikv", "--dry-run").Out
			t.Log(shown)
			wantText(t, shown, "with other volumes and their mounts, keeping its pods")
			w.Must(t, 0, "replace", "basic", "--all-of", "tikv", "--yes")
			w.wantMounts(t, path)
			after := w.Model.ClaimsOf(topology.TiKV)
			for i := range before {
				if before[i] == after[i] {
					t.Errorf("store %d has its old claim", i)
				}
			}
			before = after
			w.Must(t, 0, "sync", "basic")
			w.Model.Pass(60) // the last store has its first heartbeat
		}
		w.addWAL("/wal")
		for _, args := range [][]string{{"sync", "basic", "--yes"}, {"replace", "basic", "--all-of", "tikv", "--yes"}} {
			text, writes := w.attempt(t, time.Minute, args...)
			wantText(t, text, "volume tikv-wal can not be added to an existing TiKV")
			wantNone(t, writes, "DELETE", "")
		}
	})
}

// hasWAL is a cluster whose stores have a volume more.
const hasWAL = `apiVersion: pingcap.com/v1alpha1
kind: TidbCluster
metadata: {name: basic}
spec:
  version: v8.1.0
  pd: {baseImage: pingcap/pd, replicas: 1, requests: {storage: 1Gi}, config: {}}
  tikv:
    {baseImage: pingcap/tikv, replicas: 4, requests: {storage: 1Gi}, config: {},
    storageVolumes: [{name: wal, storageSize: 1Gi, mountPath: /wal}]}
  tidb: {baseImage: pingcap/tidb, replicas: 1, config: {}}
`

// withWAL runs a script in a world with the cluster hasWAL.
func withWAL(t *testing.T, script func(t *testing.T, w *World)) {
	t.Helper()
	withCluster(t, hasWAL, sim.Options{PD: 1, TiKV: 4, TiDB: 1, Seed: 1}, script)
}

// withCluster runs a script in a world with the cluster of a manifest.
func withCluster(t *testing.T, manifest string, o sim.Options, script func(t *testing.T, w *World)) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "basic.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	Run(t, o, func(t *testing.T, w *World) {
		defer w.transcript(t)
		w.Must(t, 0, "apply", "-f", file)
		w.Sleep(2 * time.Minute)
		script(t, w)
		w.wantUnbroken(t)
	})
}

// addWAL is a person who gives stores a volume more with kubectl, at a path. The path "" removes the volume.
func (w *World) addWAL(path string) {
	w.changeCluster(func(tc *unstructured.Unstructured) {
		unstructured.RemoveNestedField(tc.Object, "spec", "tikv", "storageVolumes")
		if path != "" {
			all := []any{map[string]any{"name": "wal", "storageSize": "1Gi", "mountPath": path}}
			_ = unstructured.SetNestedSlice(tc.Object, all, "spec", "tikv", "storageVolumes")
		}
	})
}

// TestOtherVolumesKilled: a run is killed while the first store leaves. No request can be taken back then, because a
// member with its old pod could not restart. The next run goes on.
func TestOtherVolumesKilled(t *testing.T) {
	withWAL(t, func(t *testing.T, w *World) {
		w.Model.KeepRegions(200)
		w.addWAL("/var/wal")
		w.said(w.Killed(t.Context(), w.Model.Leaving, "replace", "basic", "--all-of", "tikv", "--yes"))
		text, _ := w.attempt(t, time.Minute, "replace", "basic", "tikv-0", "--cancel", "--yes")
		wantText(t, text, "basic-tikv-0 has other volumes than the spec asks for")
		w.Must(t, 0, "sync", "basic", "--yes")
		w.wantMounts(t, "/var/wal")
	})
}

// TestVolumesReplacedByAnOperator: tidb-operator has begun to replace volumes, and is gone. A run goes on with a spare
// store and asks nobody, and at the end the status does not ask an operator to begin again. With enablePVCReplace in the
// spec, a change that another tool makes is carried out as well.
func TestVolumesReplacedByAnOperator(t *testing.T) {
	scenario(t, sim.Options{PD: 3, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		flag := []string{"status", "tikv", "volReplaceInProgress"}
		w.changeCluster(func(tc *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(tc.Object, "class-1", "spec", "tikv", "storageClassName")
			_ = unstructured.SetNestedField(tc.Object, true, flag...)
		})
		// The user may have switched it off since.
		text, _ := w.attempt(t, time.Minute, "sync", "basic", "--yes")
		wantText(t, text, "kubectl tidb replace basic --all-of tikv")
		w.changeCluster(func(tc *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(tc.Object, true, "spec", "enablePVCReplace")
		})
		w.Must(t, 0, "sync", "basic", "--yes")
		w.wantClaims(t, topology.TiKV, "class-1", "1Gi")
		tc := w.api.Get(tidbClusters, kubernetes.Namespace, kubernetes.Name).(*unstructured.Unstructured)
		if on, _, _ := unstructured.NestedBool(tc.Object, flag...); on {
			t.Error("the status says that volumes are replaced")
		}
		w.changeCluster(func(tc *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(tc.Object, "class-1", "spec", "pd", "storageClassName")
		})
		w.Must(t, 0, "sync", "basic", "--yes")
		w.wantClaims(t, topology.PD, "class-1", "1Gi")
	})
}

// wantMounts asserts that each store mounts a volume at a path, or has no such volume for the path "".
func (w *World) wantMounts(t *testing.T, path string) {
	t.Helper()
	all := w.api.List(schema.GroupResource{Resource: "pods"}, kubernetes.Namespace)
	for _, o := range all {
		pod := o.(*corev1.Pod)
		if pod.Labels[topology.LabelComponent] != string(topology.TiKV) {
			continue
		}
		if have := render.MountPath(pod.Spec, topology.TiKV, "tikv-wal"); have != path {
			t.Errorf("%s mounts it at %q, not %q", pod.Name, have, path)
		}
		has := slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "tikv-wal" })
		if has != (path != "") {
			t.Errorf("%s has the volume: %t", pod.Name, has)
		}
	}
}

// cancelable reports whether a request is written and nothing is done for it.
func (w *World) cancelable() bool {
	tc := w.api.Get(tidbClusters, kubernetes.Namespace, kubernetes.Name).(*unstructured.Unstructured)
	return tc.GetAnnotations()[topology.AnnotationReplace] != ""
}

// wantClaims asserts that each claim of a component has a storage class and a size.
func (w *World) wantClaims(t *testing.T, k topology.Kind, class, size string) {
	t.Helper()
	all := w.set(k).Spec.VolumeClaimTemplates
	if len(all) != 1 {
		t.Fatalf("claim templates %v", all)
	}
	for _, o := range w.api.List(schema.GroupResource{Resource: "persistentvolumeclaims"}, kubernetes.Namespace) {
		if c := o.(*corev1.PersistentVolumeClaim); c.Labels[topology.LabelComponent] == string(k) {
			all = append(all, *c)
		}
	}
	if len(all) < 2 {
		t.Errorf("%s has no claims", k)
	}
	for _, c := range all {
		have := c.Spec.Resources.Requests.Storage().String()
		if c.Spec.StorageClassName == nil || *c.Spec.StorageClassName != class || have != size {
			t.Errorf("%s has class %v and %s, want %s and %s", c.Name, c.Spec.StorageClassName, have, class, size)
		}
	}
}
