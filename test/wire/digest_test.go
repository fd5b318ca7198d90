package wire

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
	"github.com/kubectl-tidb/kubectl-tidb/test/wire/kubernetes"
)

// TestImageByDigest: a webhook puts the digest of each image in the place of its tag. What the processes report is the
// record of the versions that have run on the data, so that no lower version starts on the data later.
func TestImageByDigest(t *testing.T) {
	o := sim.Options{Seed: 1, PD: 1, TiKV: 3, TiDB: 1}
	Run(t, o, func(t *testing.T, w *World) {
		defer w.transcript(t)
		w.Faults.Admitted = func(s *appsv1.StatefulSet) {
			for i := range s.Spec.Template.Spec.Containers {
				c := &s.Spec.Template.Spec.Containers[i]
				c.Image = kubernetes.ByDigest(c.Image)
			}
		}
		w.created(t)
		for _, obj := range w.api.List(schema.GroupResource{Resource: "persistentvolumeclaims"}, kubernetes.Namespace) {
			c := obj.(*corev1.PersistentVolumeClaim)
			if got := c.Annotations[topology.AnnotationRan]; got != "v8.1.0" {
				t.Errorf("the record of claim %s is %q", c.Name, got)
			}
		}
		w.Must(t, 0, "upgrade", "basic", "v8.1.1", "--yes")
		w.Model.AskDeletion()
		w.Must(t, 0, "delete", "basic", "--yes")
		text, writes := w.attempt(t, time.Minute, "create", "basic", "--version", "v7.5.0", "--storage", "1Gi", "--pd", "1", "--tikv", "3", "--tidb", "1")
		wantText(t, text, "v8.1.1")
		wantNone(t, writes, "POST", "/statefulsets")
		w.wantUnbroken(t)
	})
}
