package wire

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
	"github.com/kubectl-tidb/kubectl-tidb/test/wire/kubernetes"
)

// TestDaemons: two daemons watch a cluster whose TidbCluster a person edits. In the middle of the rollout of each
// component one daemon ends, in turn, and another daemon goes on.
func TestDaemons(t *testing.T) { daemonsGoOn(t, func(*World) {}) }

// TestDaemonsWithAdvancedStatefulSets: the copy of a daemon has AdvancedStatefulSets, and shows their changes.
func TestDaemonsWithAdvancedStatefulSets(t *testing.T) {
	daemonsGoOn(t, func(w *World) { w.kube.Migrate() })
}

func daemonsGoOn(t *testing.T, prepare func(*World)) {
	t.Helper()
	Run(t, sim.Options{Seed: 1, PD: 3, TiKV: 3, TiDB: 2}, func(t *testing.T, w *World) {
		w.Must(t, 0, "create", "basic", "--version", "v8.1.0", "--storage", "1Gi", "--tidb", "2")
		prepare(w)
		daemons := []func() Result{w.begin(t, "sync", "--watch"), w.begin(t, "sync", "--watch")}
		w.Sleep(time.Minute)
		w.changeCluster(func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(u.Object, "v8.1.1", "spec", "version")
		})
		for _, k := range []topology.Kind{topology.PD, topology.TiKV, topology.TiDB} {
			w.until(t, string(k)+" has a rollout", func() bool { return w.has(k, "v8.1.1") > 0 })
			w.ends(t, daemons[0])
			daemons = append(daemons[1:], w.begin(t, "sync", "--watch"))
		}
		w.until(t, "the rollout has ended", func() bool { return w.has(topology.TiDB, "v8.1.1") == 2 && len(w.Model.Unfit()) == 0 })
		for _, end := range daemons {
			w.ends(t, end)
		}
		w.Must(t, 0, "status", "basic")
		w.wantUnbroken(t)
	})
}

// begin starts a command that runs beside others. What it returns interrupts the command, and waits for its end.
func (w *World) begin(t *testing.T, args ...string) (end func() Result) {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan Result, 1)
	go func() { ended <- w.run(ctx, w.network.DialContext, args...) }()
	return func() Result {
		interrupt()
		return w.await(ended)
	}
}

// ends interrupts a daemon, which ends at a safe point, with exit code 0.
func (w *World) ends(t *testing.T, daemon func() Result) {
	t.Helper()
	if r := w.said(daemon()); r.Code != 0 {
		t.Errorf("the daemon has ended with exit code %d\n%s", r.Code, r.Err)
	}
}

// until waits for what has to happen within an hour.
func (w *World) until(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(settled); !happened(); w.Sleep(time.Second) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s; not serving: %v", settled, what, w.Model.Unfit())
		}
	}
}

// has returns how many pods of a component have a container with a version.
func (w *World) has(k topology.Kind, version string) int {
	n := 0
	for _, p := range w.pods(k) {
		if slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return strings.HasSuffix(c.Image, ":"+version) }) {
			n++
		}
	}
	return n
}

// pods returns the pods of a component.
func (w *World) pods(k topology.Kind) []*corev1.Pod {
	var all []*corev1.Pod
	for _, obj := range w.api.List(schema.GroupResource{Resource: "pods"}, kubernetes.Namespace) {
		p := obj.(*corev1.Pod)
		if of, _, ok := w.cluster.Member(p.Name); ok && of == k {
			all = append(all, p)
		}
	}
	return all
}
