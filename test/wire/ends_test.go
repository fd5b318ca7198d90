package wire

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
	"github.com/kubectl-tidb/kubectl-tidb/test/wire/kubernetes"
)

// TestPodThatHasEnded: the pod of a store has a final phase, and the StatefulSet controller does not delete such pods.
// Kubernetes starts no container of the pod again, so the pod is deleted, and a new one serves.
func TestPodThatHasEnded(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 1, KeepEnded: true}, func(t *testing.T, w *World) {
		w.Model.EndPod(topology.TiKV, 2)
		w.Sleep(3 * time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		if r := w.said(w.Command(ctx, "sync", "basic", "--yes")); r.Code != 0 {
			t.Errorf("exit code %d", r.Code)
		}
	})
}

// TestRefusedPod: an admission webhook refuses the pods of the new template. The run says what the webhook has said,
// and not that there is no pod.
func TestRefusedPod(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 2}, func(t *testing.T, w *World) {
		w.changeCluster(func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(u.Object, "refused", "spec", "tidb", "annotations", kubernetes.Flaw)
		})
		text, _ := w.attempt(t, time.Minute, "sync", "basic", "--yes")
		wantText(t, text, "denied the request: it refuses all pods of this template")
	})
}
