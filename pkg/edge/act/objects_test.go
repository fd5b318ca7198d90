package act

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func configMap(data string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: owned("basic-tikv", topology.TiKV), Data: map[string]string{"config-file": data}}
	cm.ResourceVersion = ""
	return cm
}

func apply(drift desired.Drift, manifest runtime.Object) step.Apply {
	return step.Apply{Component: topology.TiKV, Object: desired.Object{
		Kind: "ConfigMap", Name: "basic-tikv", Drift: drift, Manifest: manifest,
	}}
}

func liveConfigMap(t *testing.T, w *fixture) *corev1.ConfigMap {
	t.Helper()
	cm, err := w.kube.CoreV1().ConfigMaps("db").Get(t.Context(), "basic-tikv", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return cm
}

func TestApplyCreates(t *testing.T) {
	w := newFixture(t)
	for _, manifest := range []runtime.Object{
		configMap("a"),
		&corev1.Service{ObjectMeta: owned("basic-tikv-peer", topology.TiKV)},
		set(topology.TiKV, 3, 3),
	} {
		w.do(t, apply(desired.Missing, manifest))
	}
	if got := liveConfigMap(t, w).Data["config-file"]; got != "a" {
		t.Errorf("data %q", got)
	}
	if got := strings.Join(w.writes(), ", "); got != "create configmaps, create services, create statefulsets" {
		t.Error(got)
	}
}

func TestApplyCreateOfWhatExists(t *testing.T) {
	w := newFixture(t, configMap("of another"))
	err := w.Do(t.Context(), apply(desired.Missing, configMap("ours")))
	var s *Stale
	if !errors.As(err, &s) {
		t.Errorf("got %v", err)
	}
	if got := liveConfigMap(t, w).Data["config-file"]; got != "of another" {
		t.Errorf("overwritten with %q", got)
	}
}

func TestApplyUpdates(t *testing.T) {
	old := configMap("old")
	old.Labels["team"] = "dba"
	w := newFixture(t, old)
	w.do(t, apply(desired.Differs, configMap("new")))
	cm := liveConfigMap(t, w)
	if cm.Data["config-file"] != "new" || cm.Labels["team"] != "dba" {
		t.Errorf("%v, labels %v", cm.Data, cm.Labels)
	}
	w.kube.ClearActions()
	w.do(t, apply(desired.Differs, configMap("new")))
	w.unchanged(t)
}

// TestApplyRecordsWhenDataChanges: only the annotation shows that running pods have the earlier
// data.
func TestApplyRecordsWhenDataChanges(t *testing.T) {
	c := topology.Cluster{Namespace: "db", Name: "basic", Source: &v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{
		Annotations: map[string]string{"tidb.pingcap.com/configmap-name-before-delete-tikv": "basic-tikv"},
	}}}
	w := newFixture(t, configMap("old"))
	written := func() render.Written {
		return render.WrittenConfig(c, topology.TiKV, state.Existing{ConfigMaps: map[string]*corev1.ConfigMap{"basic-tikv": liveConfigMap(t, w)}})
	}
	labelled := configMap("old")
	labelled.Labels["team"] = "dba"
	w.do(t, apply(desired.Differs, labelled))
	if got := written(); got != (render.Written{}) {
		t.Errorf("after a label: %+v", got)
	}
	w.do(t, apply(desired.Differs, configMap("new")))
	if got := written(); !got.Exact || !got.At.Equal(now) {
		t.Errorf("after other data: %+v", got)
	}
}

func TestApplyUpdateOfWhatIsGone(t *testing.T) {
	newFixture(t).isStale(t, apply(desired.Differs, configMap("new")))
}

// interfere changes an object between our read and our write, a number of times.
func interfere[T runtime.Object](t *testing.T, w *fixture, resource string, times int, change func(T)) {
	t.Helper()
	version := 0
	w.kube.PrependReactor("update", resource, func(a clienttesting.Action) (bool, runtime.Object, error) {
		if version == times {
			return false, nil, nil
		}
		version++
		next := a.(clienttesting.UpdateAction).GetObject().(metav1.Object)
		obj, err := w.kube.Tracker().Get(a.GetResource(), "db", next.GetName())
		if err != nil {
			t.Fatal(err)
		}
		obj = obj.DeepCopyObject()
		obj.(metav1.Object).SetResourceVersion("theirs-" + string(rune('a'+version)))
		change(obj.(T))
		if err := w.kube.Tracker().Update(a.GetResource(), obj, "db"); err != nil {
			t.Fatal(err)
		}
		return false, nil, nil
	})
}

// After a conflict the change is made on the new object: what others wrote stays.
func TestApplyConflict(t *testing.T) { t.Run("pd-A6", conflict) }

func conflict(t *testing.T) {
	w := newFixture(t, configMap("old"))
	interfere(t, w, "configmaps", 2, func(cm *corev1.ConfigMap) {
		cm.Labels["team"] = "dba"
	})
	w.do(t, apply(desired.Differs, configMap("new")))
	cm := liveConfigMap(t, w)
	if cm.Data["config-file"] != "new" || cm.Labels["team"] != "dba" {
		t.Errorf("%v, labels %v", cm.Data, cm.Labels)
	}
}

func TestApplyConflictForEver(t *testing.T) {
	w := newFixture(t, configMap("old"))
	interfere(t, w, "configmaps", 100, func(*corev1.ConfigMap) {})
	begun := time.Now()
	err := w.Do(t.Context(), apply(desired.Differs, configMap("new")))
	if !apierrors.IsConflict(err) || isFinal(err) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("tried for %v", took)
	}
}

func TestApplyOwners(t *testing.T) {
	controller := true
	for _, tt := range []struct {
		name         string
		change       func(*corev1.ConfigMap)
		stale, final bool
		want         string
	}{
		{name: "another controller", final: true, want: "Deployment web", change: func(cm *corev1.ConfigMap) {
			cm.OwnerReferences = []metav1.OwnerReference{{Kind: "Deployment", Name: "web", UID: "x", Controller: &controller}}
		}},
		{name: "another TidbCluster", final: true, want: "TidbCluster other", change: func(cm *corev1.ConfigMap) {
			cm.OwnerReferences[0].Name, cm.OwnerReferences[0].UID = "other", "x"
		}},
		{name: "the TidbCluster's predecessor", stale: true, want: "former", change: func(cm *corev1.ConfigMap) {
			cm.OwnerReferences[0].UID = "x"
		}},
		{name: "no owner, and no label of ours", final: true, want: "no part of this cluster", change: func(cm *corev1.ConfigMap) {
			cm.OwnerReferences, cm.Labels = nil, nil
		}},
		{name: "terminating", stale: true, want: "being deleted", change: func(cm *corev1.ConfigMap) {
			at := metav1.NewTime(now)
			cm.DeletionTimestamp, cm.Finalizers = &at, []string{"x/y"}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			live := configMap("theirs")
			tt.change(live)
			w := newFixture(t, live)
			err := w.Do(t.Context(), apply(desired.Differs, configMap("ours")))
			var s *Stale
			if err == nil || !strings.Contains(err.Error(), tt.want) || errors.As(err, &s) != tt.stale || isFinal(err) != tt.final {
				t.Errorf("got %v", err)
			}
			w.unchanged(t)
		})
	}
}

func TestApplyAdoptsOrphans(t *testing.T) {
	orphan := configMap("old")
	orphan.OwnerReferences = nil
	w := newFixture(t, orphan)
	w.do(t, apply(desired.Differs, configMap("new")))
	if c := metav1.GetControllerOf(liveConfigMap(t, w)); c == nil || c.UID != "tc-uid" {
		t.Errorf("owned by %v", c)
	}
}

func TestApplyStatefulSetRestartsNothing(t *testing.T) {
	w := newFixture(t, set(topology.TiKV, 4, 2))
	wanted := set(topology.TiKV, 3, 3)
	wanted.Spec.Template.Labels = map[string]string{"v": "2"}
	w.do(t, apply(desired.Differs, wanted))
	live, err := w.kube.AppsV1().StatefulSets("db").Get(t.Context(), "basic-tikv", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if replicas(live) != 4 || render.Partition(live) < 4 || live.Spec.Template.Labels["v"] != "2" {
		t.Errorf("%d replicas, partition %d, template %v", replicas(live), render.Partition(live), live.Spec.Template.Labels)
	}
}

func TestWhatCannotBeApplied(t *testing.T) {
	w := newFixture(t)
	if err := w.Do(t.Context(), apply(desired.Missing, &appsv1.Deployment{})); err == nil {
		t.Error("a Deployment was applied")
	}
	w.unchanged(t)
}

func TestFinalErrors(t *testing.T) {
	resource := schema.GroupResource{Resource: "configmaps"}
	for _, tt := range []struct {
		name  string
		err   error
		final bool
	}{
		{"forbidden", apierrors.NewForbidden(resource, "basic-tikv", errors.New("no")), true},
		{"quota", apierrors.NewForbidden(resource, "basic-tikv", errors.New("exceeded quota: team")), true},
		{"quota not known yet", apierrors.NewForbidden(resource, "basic-tikv", errors.New("status unknown for quota: team")), false},
		{"invalid", apierrors.NewInvalid(schema.GroupKind{}, "basic-tikv", nil), true},
		{"no such namespace", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "db"), true},
		{"credentials expired", apierrors.NewUnauthorized("expired"), false},
		{"overload", apierrors.NewTooManyRequests("later", 1), false},
		{"webhook down", apierrors.NewInternalError(errors.New("failed calling webhook")), false},
		{"no connection", errors.New("connection refused"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newFixture(t)
			w.kube.PrependReactor("create", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, tt.err })
			err := w.Do(t.Context(), apply(desired.Missing, configMap("a")))
			if isFinal(err) != tt.final || !errors.Is(err, tt.err) || !strings.HasPrefix(err.Error(), "create configmap basic-tikv: ") {
				t.Errorf("final %v: %v", isFinal(err), err)
			}
		})
	}
}
