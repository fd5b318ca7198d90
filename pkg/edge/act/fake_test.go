package act

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

var (
	now     = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	cluster = topology.Cluster{Namespace: "db", Name: "basic", Instance: "basic", UID: "tc-uid"}
)

// fixture is the cluster that an Actor changes.
type fixture struct {
	kube   *fake.Clientset
	intent *fakeIntent
	pd     *pd.Fake
	*Actor
}

// newFixture returns a cluster with the given objects, three PD members of which the first leads,
// and four stores.
func newFixture(t *testing.T, objects ...runtime.Object) *fixture {
	t.Helper()
	base := pd.NewFake(3, 4)
	base.Update(func(s *pd.FakeState) {
		for i := range s.Members {
			s.Members[i].Name = cluster.PDName(i)
			s.Members[i].PeerURLs = []string{"http://" + cluster.PodHost(topology.PD, i) + ":2380"}
		}
		s.Leader = cluster.PDName(0)
		for i := range s.Stores {
			s.Stores[i].Address = cluster.PodHost(topology.TiKV, i) + ":20160"
		}
	})
	w := &fixture{kube: api(objects...), intent: &fakeIntent{}, pd: base}
	w.Actor = New(w.kube, w.intent, func() pd.Client { return base }, cluster, func() time.Time { return now })
	w.owner = "this run"
	w.kube.PrependReactor("create", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return isDryRun(a), a.(clienttesting.CreateAction).GetObject(), nil
	})
	return w
}

// isDryRun reports whether a request is to be tried only. The fake client would carry it out.
func isDryRun(a clienttesting.Action) bool {
	create, ok := a.(clienttesting.CreateActionImpl)
	return ok && len(create.CreateOptions.DryRun) > 0
}

// writes returns the calls so far that change something in Kubernetes or PD.
func (w *fixture) writes() []string {
	var calls []string
	for _, a := range w.kube.Actions() {
		if !slices.Contains([]string{"get", "list", "watch"}, a.GetVerb()) && !isDryRun(a) {
			calls = append(calls, a.GetVerb()+" "+a.GetResource().Resource)
		}
	}
	return append(calls, w.pd.Writes()...)
}

// unchanged fails the test if something was written.
func (w *fixture) unchanged(t *testing.T) {
	t.Helper()
	if calls := w.writes(); len(calls) > 0 {
		t.Errorf("changed something: %q", calls)
	}
}

// isStale fails the test unless the step fails with a *Stale and changes nothing.
func (w *fixture) isStale(t *testing.T, next step.Step) {
	t.Helper()
	err := w.Do(t.Context(), next)
	var s *Stale
	if !errors.As(err, &s) {
		t.Errorf("%s: got %v, want a stale step", next, err)
	}
	w.unchanged(t)
}

func (w *fixture) do(t *testing.T, s step.Step) {
	t.Helper()
	if err := w.Do(t.Context(), s); err != nil {
		t.Errorf("%s: %v", s, err)
	}
}

func isFinal(err error) bool {
	var f interface{ Final() bool }
	return errors.As(err, &f) && f.Final()
}

// api is a fake API server that checks versions and other preconditions, which
// the fake clientset alone does not.
func api(objects ...runtime.Object) *fake.Clientset {
	client := fake.NewClientset(objects...)
	var mu sync.Mutex
	version := 100
	next := func() string {
		mu.Lock()
		defer mu.Unlock()
		version++
		return strconv.Itoa(version)
	}
	live := func(a clienttesting.Action, name string) (metav1.Object, error) {
		obj, err := client.Tracker().Get(a.GetResource(), a.GetNamespace(), name)
		if err != nil {
			return nil, err
		}
		return meta.Accessor(obj)
	}
	conflict := func(a clienttesting.Action, name string) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewConflict(a.GetResource().GroupResource(), name, errors.New("precondition failed"))
	}
	client.PrependReactor("create", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		obj, _ := meta.Accessor(a.(clienttesting.CreateAction).GetObject())
		obj.SetResourceVersion(next())
		return false, nil, nil
	})
	client.PrependReactor("update", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		obj, _ := meta.Accessor(a.(clienttesting.UpdateAction).GetObject())
		if have, err := live(a, obj.GetName()); err == nil && have.GetResourceVersion() != obj.GetResourceVersion() {
			return conflict(a, obj.GetName())
		}
		obj.SetResourceVersion(next())
		return false, nil, nil
	})
	client.PrependReactor("patch", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		p := a.(clienttesting.PatchAction)
		var body struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		if err := json.Unmarshal(p.GetPatch(), &body); err != nil {
			return true, nil, err
		}
		have, err := live(a, p.GetName())
		if rv := body.Metadata.ResourceVersion; err == nil && rv != "" && rv != have.GetResourceVersion() {
			return conflict(a, p.GetName())
		}
		return false, nil, nil
	})
	client.PrependReactor("delete", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		d := a.(clienttesting.DeleteActionImpl)
		have, err := live(a, d.Name)
		pre := d.DeleteOptions.Preconditions
		if err != nil || pre == nil {
			return false, nil, nil
		}
		if pre.UID != nil && *pre.UID != have.GetUID() || pre.ResourceVersion != nil && *pre.ResourceVersion != have.GetResourceVersion() {
			return conflict(a, d.Name)
		}
		return false, nil, nil
	})
	return client
}

func owned(name string, k topology.Kind) metav1.ObjectMeta {
	controller := true
	return metav1.ObjectMeta{
		Namespace: "db", Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: "1", Labels: cluster.Labels(k),
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "pingcap.com/v1alpha1", Kind: "TidbCluster", Name: "basic", UID: "tc-uid", Controller: &controller,
		}},
	}
}

func set(k topology.Kind, replicas, partition int32) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: owned(cluster.SetName(k), k),
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas,
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
				Type:          appsv1.RollingUpdateStatefulSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition},
			},
		},
		Status: appsv1.StatefulSetStatus{CurrentRevision: "old", UpdateRevision: "new"},
	}
}

// of is the StatefulSet of a component as set makes it.
func of(k topology.Kind) step.Basis { return step.Basis{UID: "uid-of-" + cluster.SetName(k)} }

func pod(k topology.Kind, ordinal int) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "db", Name: cluster.PodName(k, ordinal), UID: types.UID("uid-of-" + cluster.PodName(k, ordinal)), Labels: cluster.Labels(k),
	}}
	p.Labels[appsv1.ControllerRevisionHashLabelKey] = "old"
	return p
}

func claim(k topology.Kind, ordinal int, marked bool) *corev1.PersistentVolumeClaim {
	name := string(k) + "-" + cluster.PodName(k, ordinal)
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "db", Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: "1", Labels: cluster.Labels(k),
		Annotations: map[string]string{"mine": "stays"},
	}}
	if marked {
		c.Annotations[topology.AnnotationDeferDeleting] = "2026-01-01T00:00:00Z"
	}
	return c
}
