package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// faults are all that concern Kubernetes.
var faults = sim.Faults{
	Crash: 1. / 60, EndPod: 1. / 120, Lose: 1. / 150, Delete: 1. / 100, Kubectl: 1. / 150, LoseForGood: 1. / 300, Hide: 1. / 150,
	OldReport: 1. / 100, DeleteClaim: 1. / 200, Template: 1. / 150, KubeletAway: 1. / 200,
}

// TestSame: what package observe reads from the API server is what the model shows, whatever happens and whatever is
// written.
//
// Not compared is when Ready last changed, of two kinds of pods. While a pod ends, the model has the time when Ready
// changed, and observe that of the deletion. On a host with another clock, the model corrects all times alike, and in
// Kubernetes some are written by the kubelet and some by the node controller.
func TestSame(t *testing.T) {
	for _, seed := range []uint64{0, 1, 10} { // hosts of the last one have wrong clocks
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			o := sim.Options{Seed: seed, PD: 3, TiKV: 3, TiDB: 2, Faults: faults, KeepStuck: seed%2 == 0, KeepEnded: seed%3 == 0}
			if seed == 1 {
				o.TiFlash, o.TiCDC, o.TiProxy, o.Pump = 2, 2, 2, 2
			}
			in(t, o, func(w *world) {
				w.model.OffsetClocks()
				c := w.create()
				w.pass(30)
				w.model.BeginFaults()
				d, err := dial.NewDirect(&rest.Config{Host: "http://memory", Dial: func(context.Context, string, string) (net.Conn, error) {
					return nil, errors.New("no way")
				}})
				if err != nil {
					w.Fatal(err)
				}
				o := observe.New(w.kube, d, func(context.Context) (*v1alpha1.TidbCluster, error) { return c.Written, nil }, time.Now)
				defer time.Sleep(time.Minute) // until its connections have ended
				defer o.Close()
				rng := rand.New(rand.NewPCG(seed, 1))
				for range 200 {
					w.write(rng)
					w.pass(1)
					seen, err := o.Observe(w.Context(), true)
					if err != nil {
						w.Fatal(err)
					}
					w.compare(seen.Snapshot)
					if w.Failed() {
						return
					}
				}
			})
		})
	}
}

// write is somebody who changes a StatefulSet, or deletes something, now and then.
func (w *world) write(rng *rand.Rand) {
	all := w.model.Components()
	k := all[rng.IntN(len(all))]
	client := w.kube.AppsV1().StatefulSets(Namespace)
	set, err := client.Get(w.Context(), w.cluster.SetName(k), metav1.GetOptions{})
	if err != nil {
		if rng.IntN(10) == 0 {
			w.recreate(k)
		}
		return
	}
	switch rng.IntN(60) {
	case 0:
		n := int32(rng.IntN(5))
		set.Spec.Replicas = &n
	case 1, 2, 3:
		n := int32(rng.IntN(4))
		set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &n}
	case 4, 5:
		set.Spec.Template.Annotations["try"] = fmt.Sprint(rng.IntN(3))
		delete(set.Spec.Template.Annotations, Flaw)
		if rng.IntN(3) == 0 {
			set.Spec.Template.Annotations[Flaw] = []string{"crashing", "noimage", "deaf"}[rng.IntN(3)]
		}
	case 6:
		name := w.cluster.PodName(k, rng.IntN(4))
		if err := w.kube.CoreV1().Pods(Namespace).Delete(w.Context(), name, metav1.DeleteOptions{}); err == nil {
			w.Logf("delete %s", name)
		}
		return
	case 7:
		policy := []metav1.DeletionPropagation{metav1.DeletePropagationOrphan, metav1.DeletePropagationForeground}[rng.IntN(2)]
		_ = client.Delete(w.Context(), set.Name, metav1.DeleteOptions{PropagationPolicy: &policy})
		return
	default:
		return
	}
	if _, err := client.Update(w.Context(), set, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// recreate creates the StatefulSet of a component again.
func (w *world) recreate(k topology.Kind) {
	g, _ := w.wanted(w.read()).Group(k)
	w.put(g.Set.Manifest)
}

// compare reports what an observation shows of Kubernetes and the model does not, or the other way round.
func (w *world) compare(seen state.Snapshot) {
	want := w.model.Reported()
	for _, k := range w.model.Components() {
		a, b := w.kubernetesHalf(k, seen.Groups[k], true), w.kubernetesHalf(k, want.Groups[k], false)
		for _, name := range slices.Sorted(maps.Keys(union2(a, b))) {
			if _, there := get[*corev1.PersistentVolumeClaim](w.Bridge, claims, name); a[name] == nil && there {
				continue // it is above the replicas, so that it was not read
			}
			for _, d := range differences(a[name], b[name]) {
				w.Errorf("%s: %s: %s", w.model.Now().Format(time.TimeOnly), name, d)
			}
		}
	}
}

// offset reports whether the clock of a pod's host is not that of the API server.
func (w *world) offset(k topology.Kind, ordinal int) bool {
	return slices.ContainsFunc(w.model.ShownPods(k), func(p sim.ShownPod) bool { return p.Ordinal == ordinal && p.Ahead != 0 })
}

// differences returns the fields in which two values of the same type differ, as text.
func differences(a, b any) []string {
	if a == nil || b == nil {
		return []string{fmt.Sprintf("API %+v, model %+v", a, b)}
	}
	var all []string
	is, want := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range is.NumField() {
		if x, y := fmt.Sprint(is.Field(i)), fmt.Sprint(want.Field(i)); x != y {
			all = append(all, fmt.Sprintf("%s: API %s, model %s", is.Type().Field(i).Name, x, y))
		}
	}
	return all
}

func union2(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// kubernetesHalf returns what both can know of a component, without texts and without what only one of them has.
func (w *world) kubernetesHalf(k topology.Kind, g state.Group, named bool) map[string]any {
	revision := func(r string) string {
		if named {
			return r
		}
		return w.revisionName(k, r)
	}
	out := map[string]any{}
	s := g.Set
	s.Template, s.Writer, s.Written = "", "", time.Time{}
	s.UpdateRevision, s.CurrentRevision = revision(s.UpdateRevision), revision(s.CurrentRevision)
	if !s.Exists {
		s = state.Set{}
	}
	if len(s.Volumes) == 0 {
		s.Volumes = nil
	}
	out[string(k)] = s
	for _, m := range g.Members {
		if p := m.Pod; p != nil {
			p := *p
			p.Revision = revision(p.Revision)
			p.Identity, p.Version, p.Binlog, p.Config, p.NodeState, p.Overdue = state.Identity{}, "", false, 0, 0, false
			p.Finalizers, p.Problem, p.Behind, p.Mounts = nil, "", 0, nil
			if p.Terminating || w.offset(k, m.Ordinal) { // see the doc comment of TestSame
				p.Since = time.Time{}
			}
			out[m.Name] = p
		}
		for _, c := range m.Claims {
			c.Identity, c.Volume, c.Growth, c.Since, c.Version = state.Identity{}, nil, 0, time.Time{}, ""
			out[c.Name] = c
		}
	}
	return out
}
