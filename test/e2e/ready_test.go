package e2e

import (
	"fmt"
	"os/exec"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// waitReady: "kubectl wait" ends only when the present spec has converged, and a status that does
// not change is not written.
func waitReady(t *testing.T) {
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("SKIPPED: there is no kubectl")
	}
	ready := func(within string) bool {
		out, err := exec.CommandContext(t.Context(), kubectl, "--kubeconfig", shared.Kubeconfig, "-n", namespace,
			"wait", "tc/"+cluster, "--for=condition=Ready", "--timeout="+within).CombinedOutput()
		t.Logf("%s", out)
		return err == nil
	}
	look := func() *unstructured.Unstructured {
		tc, err := shared.clusters().Get(t.Context(), cluster, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		seen, _, err := unstructured.NestedInt64(tc.Object, "status", "observedGeneration")
		if err != nil || seen > tc.GetGeneration() {
			t.Errorf("generation %d, observed %d, %v", tc.GetGeneration(), seen, err)
		}
		return tc
	}
	shared.tidb(t, 0, "sync", cluster)
	if !ready("1m") {
		t.Error("converged, and not Ready")
	}
	// PD may move its leader at any time, which the status shows: so no count of writes, but
	// none without a difference.
	before := look()
	shared.tidb(t, 0, "sync", cluster)
	after := look()
	if before.GetResourceVersion() != after.GetResourceVersion() && reflect.DeepEqual(statusOf(before), statusOf(after)) {
		t.Errorf("a status that is as it was was written: version %s, was %s", after.GetResourceVersion(), before.GetResourceVersion())
	}
	// Nothing is to be done for it, but who waits cannot know that.
	for _, value := range []string{`"90m"`, "null"} {
		patch := fmt.Appendf(nil, `{"spec":{"tikv":{"evictLeaderTimeout":%s}}}`, value)
		if _, err := shared.clusters().Patch(t.Context(), cluster, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		if ready("1s") {
			t.Error("a Ready from before the change is believed")
		}
		shared.tidb(t, 0, "sync", cluster)
		if !ready("1m") {
			t.Error("the status is not Ready after the change")
		}
	}
}

// statusOf returns a status without its generation.
func statusOf(tc *unstructured.Unstructured) map[string]any {
	status, _, _ := unstructured.NestedMap(tc.Object, "status")
	delete(status, "observedGeneration")
	return status
}
