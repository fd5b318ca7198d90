package act

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func TestModifyClaim(t *testing.T) {
	s := step.ModifyClaim{Component: topology.TiKV, Member: "basic-tikv-3", Name: claimName, UID: "uid-of-" + claimName, Class: "gold"}
	w := newFixture(t, sized(3, "10Gi", "10Gi"))
	w.do(t, s)
	if got := liveClaim(t, w); attributes(got) != "gold" || got.Annotations["mine"] != "stays" {
		t.Errorf("%+v", got.Spec)
	}
	w.kube.ClearActions()
	w.do(t, s)
	w.unchanged(t)
	s.From, s.Class = "silver", "bronze"
	w.isStale(t, s)

	s.From = ""
	t.Run("it was being deleted already", func(t *testing.T) {
		w, s := newFixture(t, leavingClaim()), s
		s.Going = true
		w.do(t, s)
		if got := attributes(liveClaim(t, w)); got != s.Class {
			t.Errorf("class %s", got)
		}
	})
	for name, change := range map[string]func(*corev1.PersistentVolumeClaim){
		"another claim":       func(c *corev1.PersistentVolumeClaim) { c.UID = "other" },
		"marked as left over": func(c *corev1.PersistentVolumeClaim) { c.Annotations[topology.AnnotationDeferDeleting] = "now" },
		"being deleted": func(c *corev1.PersistentVolumeClaim) {
			c.DeletionTimestamp, c.Finalizers = &metav1.Time{Time: now}, []string{"kubernetes.io/pvc-protection"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := sized(3, "10Gi", "10Gi")
			change(c)
			newFixture(t, c).isStale(t, s)
		})
	}
	t.Run("it is gone", func(t *testing.T) { newFixture(t).isStale(t, s) })
	t.Run("an API server that drops the field", func(t *testing.T) {
		c := sized(3, "10Gi", "10Gi")
		w := newFixture(t, c)
		w.kube.PrependReactor("patch", "persistentvolumeclaims", func(clienttesting.Action) (bool, runtime.Object, error) { return true, c, nil })
		if err := w.Do(t.Context(), s); err == nil || !isFinal(err) || !strings.Contains(err.Error(), "does not store volumeAttributesClassName") {
			t.Errorf("got %v", err)
		}
	})
}
