package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/advanced"
)

// TestSlots: under a client that writes, a cluster with AdvancedStatefulSets is taken over without a restart. Members in
// the middle leave, members come back, and an upgrade goes on over the gaps. The controller of these sets is a stand-in.
func TestSlots(t *testing.T) {
	t.Parallel()
	s := newEnvironment(t, "e2e-slots")
	s.apply(t, "  pd: {baseImage: pingcap/pd, replicas: 3, requests: {storage: 1Gi}, config: {}}\n"+
		"  tidb: {baseImage: pingcap/tidb, replicas: 3, config: {}}\n"+
		"  tikv: {baseImage: pingcap/tikv, replicas: 4, requests: {storage: 1Gi}, config: {}}")
	db, writer := s.writes(t, "slots")
	pods := s.podUIDs(t)
	s.migrate(t)
	step := func(name string, f func(*testing.T)) {
		if !t.Run(name, f) {
			t.FailNow()
		}
	}
	step("take over", func(t *testing.T) {
		// It may wait for what is observed late, but has nothing to do in any case.
		s.eventually(t, "the cluster has converged", func() bool {
			out := s.tidb(t, 0, "sync", cluster, "--dry-run").Stdout
			if !strings.Contains(out, "there is nothing to do") {
				t.Fatalf("a take-over would change something: %s", out)
			}
			return strings.Contains(out, "has converged")
		})
		s.tidb(t, 0, "sync", cluster, "--yes")
		s.wantConverged(t, 3, 4, 3, from)
		for name, uid := range s.podUIDs(t) {
			if pods[name] != uid {
				t.Errorf("pod %s is %s, was %s", name, uid, pods[name])
			}
		}
	})
	step("remove a store and a server", func(t *testing.T) {
		s.tidb(t, 0, "scale", cluster, "tikv=3", "tidb=2", "--remove", "tikv-1", "--remove", "tidb-0", "--yes")
		s.wantConverged(t, 3, 3, 2, from)
		s.wantPods(t, "tidb-1", "tidb-2", "tikv-0", "tikv-2", "tikv-3")
	})
	step("move a store and a member of PD", func(t *testing.T) {
		s.tidb(t, 0, "scale", cluster, "tikv=3", "pd=3", "--remove", "tikv-2", "--remove", "pd-1", "--yes")
		s.wantConverged(t, 3, 3, 2, from)
		s.wantPods(t, "pd-0", "pd-2", "pd-3", "tikv-0", "tikv-3", "tikv-4")
	})
	step("take it back", func(t *testing.T) {
		s.tidb(t, 0, "rollback", cluster, "--yes")
		s.wantConverged(t, 3, 3, 2, from)
		s.wantPods(t, "pd-0", "pd-1", "pd-2", "tikv-0", "tikv-2", "tikv-3")
	})
	step("upgrade", func(t *testing.T) {
		s.tidb(t, 0, "upgrade", cluster, to, "--yes")
		s.wantConverged(t, 3, 3, 2, to)
		s.wantPods(t, "pd-0", "pd-1", "pd-2", "tidb-1", "tidb-2", "tikv-0", "tikv-2", "tikv-3")
	})
	s.wantRows(t, db, writer, "slots")
	db.Close()
}

// wantPods asserts that the cluster has these pods of the components that they name, and no others of these.
func (s environment) wantPods(t *testing.T, members ...string) {
	t.Helper()
	want, of := map[string]bool{}, map[string]bool{}
	for _, m := range members {
		component, _, _ := strings.Cut(m, "-")
		want[cluster+"-"+m], of[component] = true, true
	}
	pods := s.podUIDs(t)
	for name := range want {
		if pods[name] == "" {
			t.Errorf("pod %s is missing: %v", name, pods)
		}
	}
	for name := range pods {
		component, _, _ := strings.Cut(strings.TrimPrefix(name, cluster+"-"), "-")
		if of[component] && !want[name] {
			t.Errorf("pod %s is there", name)
		}
	}
}

// migrate puts AdvancedStatefulSets in the place of the StatefulSets, and keeps the pods. The stand-in for their controller
// runs until the end of the test.
func (s environment) migrate(t *testing.T) {
	t.Helper()
	client := dynamic.NewForConfigOrDie(s.Config)
	kubectl(t, advanced.Definition, "apply", "-f", "-")
	kubectl(t, "", "wait", "--for=condition=Established", "crd/statefulsets.apps.pingcap.com", "--timeout="+patience.String())
	own := client.Resource(advanced.Resource).Namespace(s.plugin.Namespace)
	native := s.Kube.AppsV1().StatefulSets(s.plugin.Namespace)
	list, err := native.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 3 {
		t.Fatal(list, err)
	}
	orphan := metav1.DeletePropagationOrphan
	for i := range list.Items {
		set := &list.Items[i]
		next, err := advanced.Migrated(set)
		if err != nil {
			t.Fatal(err)
		}
		if err := native.Delete(t.Context(), set.Name, metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
			t.Fatal(err)
		}
		kubectl(t, "", "-n", s.plugin.Namespace, "wait", "--for=delete", "statefulset.apps/"+set.Name, "--timeout="+patience.String())
		if _, err := own.Create(t.Context(), next, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	t.Cleanup(func() { stop(); <-ended })
	controller := advanced.Controller{
		Kube: s.Kube, Dynamic: client, Namespace: s.plugin.Namespace, Log: func(err error) { t.Log("stand-in for the controller:", err) },
	}
	go func() { defer close(ended); controller.Run(ctx) }()
	s.eventually(t, "the stand-in has seen all AdvancedStatefulSets", func() bool {
		seen, err := own.List(t.Context(), metav1.ListOptions{})
		return err == nil && allObserved(seen.Items)
	})
}

// allObserved reports whether all pods of the sets were taken over.
func allObserved(sets []unstructured.Unstructured) bool {
	return !slices.ContainsFunc(sets, func(u unstructured.Unstructured) bool {
		replicas, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
		seen, _, _ := unstructured.NestedInt64(u.Object, "status", "readyReplicas")
		return seen != replicas
	})
}
