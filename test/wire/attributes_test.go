package wire

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
	"github.com/kubectl-tidb/kubectl-tidb/test/wire/kubernetes"
)

// TestVolumeAttributesClass: volumes get another VolumeAttributesClass in place. Where the driver refuses the class, the run
// ends with what Kubernetes reports, and a class that the driver accepts goes on. A class that does not exist is named.
func TestVolumeAttributesClass(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		for _, name := range []string{"gold", "refused-1", "silver"} {
			w.api.Put(schema.GroupResource{Group: "storage.k8s.io", Resource: "volumeattributesclasses"}, &storagev1.VolumeAttributesClass{
				ObjectMeta: metav1.ObjectMeta{Name: name}, DriverName: "sim",
			})
		}
		before := w.pods(topology.TiKV)
		w.askAttributes("gold")
		w.Must(t, 0, "sync", "basic", "--yes")
		w.wantAttributes(t, "gold")
		w.askAttributes("refused-1")
		text, _ := w.attempt(t, time.Hour, "sync", "basic", "--yes")
		wantText(t, text, "has class gold; Kubernetes reports Infeasible for class refused-1")
		wantText(t, text, "iops is too high")
		wantText(t, text, "set volumeAttributesClassName to a class that the storage accepts")
		w.askAttributes("silver")
		w.Must(t, 0, "sync", "basic", "--yes")
		w.wantAttributes(t, "silver")
		w.askAttributes("missing-1")
		text, _ = w.attempt(t, time.Minute, "sync", "basic", "--yes")
		wantText(t, text, "there is no VolumeAttributesClass missing-1; volumes that have yet to get this class wait")
		for i, p := range w.pods(topology.TiKV) {
			if p.UID != before[i].UID {
				t.Errorf("%s has restarted", p.Name)
			}
		}
	})
}

// askAttributes is a person who asks for a VolumeAttributesClass of stores with kubectl.
func (w *World) askAttributes(class string) {
	w.changeCluster(func(tc *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(tc.Object, class, "spec", "tikv", "volumeAttributesClassName")
	})
}

// wantAttributes asserts that the volume of each store has a VolumeAttributesClass.
func (w *World) wantAttributes(t *testing.T, class string) {
	t.Helper()
	for _, o := range w.api.List(schema.GroupResource{Resource: "persistentvolumeclaims"}, kubernetes.Namespace) {
		c := o.(*corev1.PersistentVolumeClaim)
		if have := c.Status.CurrentVolumeAttributesClassName; c.Labels[topology.LabelComponent] == string(topology.TiKV) && (have == nil || *have != class) {
			t.Errorf("%s has VolumeAttributesClass %v", c.Name, have)
		}
	}
}
