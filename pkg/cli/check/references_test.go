package check

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

func class(name string) *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// classed returns a TidbCluster whose stores have claims of a storage class.
func classed(name string) *v1alpha1.TidbCluster {
	return basic(func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.StorageClassName = &name })
}

// TestStorageClass: claims of a class that does not exist wait for ever. A request is refused for
// that only if claims are to be created, or the class is new.
func TestStorageClass(t *testing.T) {
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Spec: corev1.PersistentVolumeSpec{StorageClassName: "gone"}}
	other := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "w"}, Spec: corev1.PersistentVolumeSpec{StorageClassName: "fast"}}
	forbid := func(resources ...string) func(*fake.Clientset) {
		return func(kube *fake.Clientset) {
			for _, r := range resources {
				kube.PrependReactor("*", r, func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: r}, "", errors.New("no"))
				})
			}
		}
	}
	running, grows := plantest.New(3, 3, 2).Seen, plantest.New(3, 2, 2).Seen
	for name, tt := range map[string]struct {
		now     *v1alpha1.TidbCluster
		class   string
		seen    state.Snapshot
		objects []runtime.Object
		setup   func(*fake.Clientset)
		// the result
		refused, warned bool
	}{
		"there":                           {class: "fast"},
		"none named":                      {class: ""},
		"new cluster":                     {class: "gone", refused: true},
		"tikv-11-26: stores are added":    {now: classed("gone"), class: "gone", seen: grows, refused: true},
		"all claims are there":            {now: classed("gone"), class: "gone", seen: running, warned: true},
		"another class":                   {now: classed("fast"), class: "gone", seen: running, refused: true},
		"volumes made by hand":            {class: "gone", objects: []runtime.Object{volume}},
		"volumes of another class":        {class: "gone", objects: []runtime.Object{other}, refused: true},
		"classes may not be read":         {class: "gone", setup: forbid("storageclasses")},
		"volumes may not be read":         {class: "gone", setup: forbid("persistentvolumes"), warned: true},
		"a new cluster, nothing observed": {class: "gone", seen: state.Snapshot{}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			kube := fake.NewClientset(append(tt.objects, class("fast"), class("slow"))...)
			if tt.setup != nil {
				tt.setup(kube)
			}
			tc := classed(tt.class)
			found, err := look(t.Context(), kube, topology.New(tc))
			if err != nil {
				t.Fatal(err)
			}
			problems, warnings := found.judge(propose(Request{Change: intent.Change{Now: tt.now, Want: tc}}), tt.seen)
			if (len(problems) > 0) != tt.refused || (len(warnings) > 0) != tt.warned {
				t.Errorf("problems %v, warnings %v", problems, warnings)
			}
			var said []string
			for _, p := range lines(problems) {
				said = append(said, p.Error())
			}
			for _, w := range warnings {
				said = append(said, w.Text)
			}
			for _, text := range said {
				if !strings.HasPrefix(text, "spec.tikv.storageClassName: ") || !strings.Contains(text, "fast, slow") {
					t.Errorf("%q does not say in which field, or which classes exist", text)
				}
			}
			for _, a := range kube.Actions() {
				if !slices.Contains([]string{"get", "list"}, a.GetVerb()) {
					t.Errorf("%s %s", a.GetVerb(), a.GetResource().Resource)
				}
			}
		})
	}
}

// TestMissingSources: there is a warning about an object that does not exist yet, since it may be
// created later.
func TestMissingSources(t *testing.T) {
	tc := basic(func(tc *v1alpha1.TidbCluster) {
		sql := "sql"
		tc.Spec.TiDB.BootstrapSQLConfigMapName = &sql
		tc.Spec.PD.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "there"}}}}
		tc.Spec.TiKV.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "gone"}}}}
	})
	kube := fake.NewClientset(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "there"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "gone"}})
	found, err := look(t.Context(), kube, topology.New(tc))
	if err != nil {
		t.Fatal(err)
	}
	problems, warnings := found.judge(propose(Request{Change: intent.Change{Want: tc}}), state.Snapshot{})
	if len(problems) > 0 || len(warnings) != 2 ||
		!strings.HasPrefix(warnings[0].Text, "spec.tikv.envFrom[0].secretRef.name: there is no Secret gone in namespace db") ||
		!strings.HasPrefix(warnings[1].Text, "spec.tidb.bootstrapSQLConfigMapName: there is no ConfigMap sql") {
		t.Errorf("problems %v, warnings %q", problems, warnings)
	}
}

// TestUnreadable: if the API server fails, nothing is known about the objects.
func TestUnreadable(t *testing.T) {
	kube := fake.NewClientset()
	kube.PrependReactor("get", "storageclasses", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInternalError(errors.New("broken"))
	})
	if _, err := look(t.Context(), kube, topology.New(classed("fast"))); err == nil || !strings.Contains(err.Error(), "spec.tikv.storageClassName") {
		t.Errorf("%v", err)
	}
}

// TestWarnings: the verb's own warnings come first.
func TestWarnings(t *testing.T) {
	tc := basic(func(tc *v1alpha1.TidbCluster) { tc.Spec.PreferIPv6 = true })
	got := propose(Request{Change: intent.Change{Want: tc}, Warnings: []string{"by the verb"}}).warnings()
	if len(got) != 2 || got[0].Text != "by the verb" || !strings.HasPrefix(got[1].Text, "spec.preferIPv6 ") {
		t.Errorf("%q", got)
	}
}

// TestMissingAttributesClass: a VolumeAttributesClass that does not exist is refused where the request names it.
func TestMissingAttributesClass(t *testing.T) {
	named := func(name string) *v1alpha1.TidbCluster {
		return basic(func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.VolumeAttributesClassName = &name })
	}
	kube := fake.NewClientset(&storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}})
	for _, c := range []struct {
		now, want       *v1alpha1.TidbCluster
		refused, warned bool
	}{
		{want: named("gold")},
		{want: named("gone"), refused: true},
		{now: named("gold"), want: named("gone"), refused: true},
		{now: named("gone"), want: named("gone"), warned: true},
	} {
		found, err := look(t.Context(), kube, topology.New(c.want))
		if err != nil {
			t.Fatal(err)
		}
		problems, warnings := found.judge(propose(Request{Change: intent.Change{Now: c.now, Want: c.want}}), state.Snapshot{})
		if (len(problems) > 0) != c.refused || (len(warnings) > 0) != c.warned {
			t.Errorf("problems %v, warnings %v", problems, warnings)
		}
	}
}

// TestAttributesClassUnread: a user who may not read VolumeAttributesClasses is refused where the API server has none.
func TestAttributesClassUnread(t *testing.T) {
	want := basic(func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.VolumeAttributesClassName = new("gold") })
	for name, c := range map[string]struct {
		version, resource string
		refused           bool
	}{
		"it has them":            {"storage.k8s.io/v1", "volumeattributesclasses", false},
		"it has them, as a beta": {"storage.k8s.io/v1beta1", "volumeattributesclasses", false},
		"it has none":            {"storage.k8s.io/v1", "storageclasses", true},
	} {
		kube := fake.NewClientset(class("fast"))
		kube.Resources = []*metav1.APIResourceList{{GroupVersion: c.version, APIResources: []metav1.APIResource{{Name: c.resource}}}}
		kube.PrependReactor("get", "volumeattributesclasses", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "volumeattributesclasses"}, "gold", errors.New("no rule"))
		})
		found, err := look(t.Context(), kube, topology.New(want))
		if err != nil {
			t.Fatal(err)
		}
		problems, _ := found.judge(propose(Request{Change: intent.Change{Want: want}}), state.Snapshot{})
		if refused := len(problems) > 0; refused != c.refused {
			t.Errorf("%s: problems %v", name, problems)
		}
	}
}
