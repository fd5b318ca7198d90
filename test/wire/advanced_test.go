package wire

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// TestAdvancedStatefulSets: a cluster with AdvancedStatefulSets is taken over without a write to any of them, then
// upgraded and scaled. No StatefulSet of Kubernetes is made beside them.
func TestAdvancedStatefulSets(t *testing.T) {
	scenario(t, sim.Options{PD: 3, TiKV: 4, TiDB: 2}, func(t *testing.T, w *World) {
		w.kube.Migrate()
		before := len(w.requests)
		w.Must(t, 0, "sync", "basic", "--yes")
		for _, r := range w.requests[before:] {
			verb, path, _ := strings.Cut(r.What, " ")
			if verb != http.MethodGet && (strings.Contains(path, "/statefulsets") || strings.Contains(path, "/pods/")) && !strings.Contains(path, "dryRun") {
				t.Errorf("the take-over has written: %s", r.What)
			}
		}
		w.Must(t, 0, "upgrade", "basic", "v8.1.1", "--yes")
		if n := w.has(topology.TiKV, "v8.1.1"); n != 4 {
			t.Errorf("%d stores of the new version", n)
		}
		r := w.Must(t, 0, "scale", "basic", "tikv=3", "--remove", "tikv-1", "--dry-run")
		if !strings.Contains(r.Out, "without basic-tikv-1") {
			t.Errorf("what would be done:\n%s", r.Out)
		}
		w.Must(t, 0, "scale", "basic", "tikv=3", "--remove", "tikv-3", "--yes")
		set := w.set(topology.TiKV)
		if *set.Spec.Replicas != 3 || set.Annotations[topology.AnnotationSlots] != "" || !state.IsAdvanced(set.APIVersion) {
			t.Errorf("%d replicas, slots %q, of %s", *set.Spec.Replicas, set.Annotations[topology.AnnotationSlots], set.APIVersion)
		}
		if slices.ContainsFunc(w.requests[before:], func(r Request) bool {
			return !strings.HasPrefix(r.What, http.MethodGet) && strings.Contains(r.What, "/apis/apps/v1/") && strings.Contains(r.What, "/statefulsets")
		}) {
			t.Error("a StatefulSet of Kubernetes was written")
		}
	})
}

// TestSlots: members in the middle leave, come back and are exchanged, and Kubernetes keeps all other pods.
func TestSlots(t *testing.T) {
	for _, k := range []topology.Kind{topology.PD, topology.TiKV, topology.TiDB} {
		scenario(t, sim.Options{PD: 4, TiKV: 5, TiDB: 3}, func(t *testing.T, w *World) {
			w.kube.Migrate()
			size := int(*w.set(k).Spec.Replicas)
			scaled := func(replicas int, args ...string) {
				t.Helper()
				before := w.podsOf(k)
				w.Must(t, 0, append([]string{"scale", "basic", fmt.Sprintf("%s=%d", k, replicas), "--yes"}, args...)...)
				for name, uid := range w.podsOf(k) {
					if was, there := before[name]; there && was != uid {
						t.Errorf("%v: pod %s was made again", args, name)
					}
				}
			}
			has := func(ordinals ...int) {
				t.Helper()
				pods := w.podsOf(k)
				for _, n := range ordinals {
					if pods[fmt.Sprintf("basic-%s-%d", k, n)] == "" {
						t.Errorf("no member %d: %v", n, pods)
					}
				}
				if len(pods) != len(ordinals) {
					t.Errorf("%v, want %v", pods, ordinals)
				}
			}
			rest := slices.Delete(ordinals(size), 1, 2)
			scaled(size-1, "--remove", fmt.Sprintf("%s-1", k))
			has(rest...)
			scaled(size)
			has(append(rest, size)...)
			scaled(size-1, "--remove", fmt.Sprintf("%s-0", k))
			has(append(rest[1:], size)...)
			w.changeCluster(func(u *unstructured.Unstructured) { u.SetAnnotations(nil) })
			w.Must(t, 0, "sync", "basic", "--yes")
			has(ordinals(size - 1)...)
			w.wantUnbroken(t)
		})
	}
}

// podsOf returns the UIDs of the pods of a component.
func (w *World) podsOf(k topology.Kind) map[string]string {
	all := map[string]string{}
	for _, p := range w.Model.ShownPods(k) {
		all[w.cluster.PodName(k, p.Ordinal)] = p.UID
	}
	return all
}

func ordinals(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// TestSlotsOfPlainStatefulSets: the annotation is refused, with what helps, and nothing is changed.
func TestSlotsOfPlainStatefulSets(t *testing.T) {
	scenario(t, sim.Options{PD: 3, TiKV: 4, TiDB: 2}, func(t *testing.T, w *World) {
		before := len(w.requests)
		r := w.Must(t, blocked, "scale", "basic", "tikv=3", "--remove", "tikv-1", "--yes")
		if !strings.Contains(r.Err, "replace basic basic-tikv-1") {
			t.Errorf("%s", r.Err)
		}
		w.changeCluster(func(u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{topology.SlotsAnnotation(topology.TiKV): "[1]"})
		})
		r = w.Must(t, blocked, "sync", "basic", "--yes")
		if !strings.Contains(r.Err, "last pod") || !strings.Contains(r.Err, "replace basic basic-tikv-1") {
			t.Errorf("%s", r.Err)
		}
		for _, r := range w.requests[before:] {
			if strings.HasPrefix(r.What, http.MethodPatch) || strings.HasPrefix(r.What, http.MethodPut) {
				t.Errorf("written: %s", r.What)
			}
		}
	})
}
