package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The node's volumes are folders of 10Gi each. A claim that asks for less than
// that has it already, and one that asks for more cannot get it.
const (
	fits   = "2Gi"
	toobig = "50Gi"
)

// testVolumes: larger volumes restart nothing, and what cannot be is refused.
func testVolumes(t *testing.T) {
	t.Run("recreated around its pods", func(t *testing.T) {
		before, sets := shared.podUIDs(t), setUID(t, "tikv")
		storage(t, fits)
		shared.tidb(t, 0, "sync", cluster)
		if got := templateSize(t, "tikv"); got != fits {
			t.Errorf("claims of new members have %s, want %s", got, fits)
		}
		if setUID(t, "tikv") == sets {
			t.Error("the StatefulSet was not recreated, so this test shows nothing")
		}
		shared.wantSamePods(t, before)
		shared.idle(t)
	})

	// tikv-11-26: it is said at once, with the field, and nothing is changed.
	t.Run("tikv-11-26 a class that lets nothing grow", func(t *testing.T) {
		before := shared.versions(t)
		storage(t, toobig)
		wantError(t, 3, "spec.tikv.requests.storage", "sync", cluster)
		wantError(t, 3, "does not let volumes grow", "sync", cluster)
		if after := shared.versions(t); after != before {
			t.Errorf("StatefulSets were %s and are %s", before, after)
		}
		storage(t, "1Gi")
		wantError(t, 3, "can not shrink", "sync", cluster)
		storage(t, fits)
		shared.tidb(t, 0, "sync", cluster)
	})

	// What a run leaves that is killed between deleting a StatefulSet and making
	// it again, and what a person does with --cascade=orphan.
	t.Run("deleted without its pods", func(t *testing.T) {
		for _, component := range []string{"pd", "tikv", "tidb"} {
			before := shared.podUIDs(t)
			orphan(t, component)
			shared.tidb(t, 0, "sync", cluster)
			shared.wantSamePods(t, before)
		}
		shared.wantConverged(t, 3, 3, 2, from)
	})

	t.Run("deleted without its pods, and fewer are wanted", func(t *testing.T) {
		shared.tidb(t, 0, "scale", cluster, "tikv=4")
		before := shared.podUIDs(t)
		orphan(t, "tikv")
		shared.tidb(t, 0, "scale", cluster, "tikv=3")
		shared.wantConverged(t, 3, 3, 2, from)
		delete(before, cluster+"-tikv-3")
		shared.wantSamePods(t, before)
	})
}

// storage sets the size of TiKV's volumes.
func storage(t *testing.T, size string) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec":{"tikv":{"requests":{"storage":%q}}}}`, size)
	_, err := shared.clusters().Patch(t.Context(), cluster, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// orphan does what "kubectl delete statefulset --cascade=orphan --wait" does.
func orphan(t *testing.T, component string) {
	t.Helper()
	sets, name := shared.Kube.AppsV1().StatefulSets(namespace), cluster+"-"+component
	policy := metav1.DeletePropagationOrphan
	if err := sets.Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		_, err := sets.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("StatefulSet %s is still there", name)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// podUIDs are all pods of the cluster, by name, with the number of restarts of
// their containers.
func (s environment) podUIDs(t *testing.T) map[string]string {
	t.Helper()
	pods, err := s.Kube.CoreV1().Pods(s.plugin.Namespace).List(t.Context(), metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/instance=" + cluster,
	})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, p := range pods.Items {
		all[p.Name] = fmt.Sprintf("%s, revision %s, %d restarts", p.UID, p.Labels["controller-revision-hash"], restarts(p))
	}
	return all
}

func restarts(p corev1.Pod) (n int32) {
	for _, c := range p.Status.ContainerStatuses {
		n += c.RestartCount
	}
	return n
}

func (s environment) wantSamePods(t *testing.T, before map[string]string) {
	t.Helper()
	after := s.podUIDs(t)
	if len(after) != len(before) {
		t.Errorf("%d pods, were %d", len(after), len(before))
	}
	for name, uid := range before {
		if after[name] != uid {
			t.Errorf("pod %s is %q, was %q", name, after[name], uid)
		}
	}
}

func setUID(t *testing.T, component string) types.UID {
	t.Helper()
	set, err := shared.Kube.AppsV1().StatefulSets(namespace).Get(t.Context(), cluster+"-"+component, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return set.UID
}

func templateSize(t *testing.T, component string) string {
	t.Helper()
	set, err := shared.Kube.AppsV1().StatefulSets(namespace).Get(t.Context(), cluster+"-"+component, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range set.Spec.VolumeClaimTemplates {
		if c.Name == component {
			return c.Spec.Resources.Requests.Storage().String()
		}
	}
	return ""
}
