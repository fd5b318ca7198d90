package daemon

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8s "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// belongings returns the objects of a cluster, as Kubernetes has them when the cluster runs.
func belongings(t *testing.T, name string) (*v1alpha1.TidbCluster, []any) {
	t.Helper()
	tc := &v1alpha1.TidbCluster{}
	if err := yaml.Unmarshal([]byte(stored), tc); err != nil {
		t.Fatal(err)
	}
	tc.Name = name
	w, err := render.Want(state.Observation{Cluster: topology.New(tc)})
	if err != nil {
		t.Fatal(err)
	}
	var all []any
	add := func(objects ...desired.Object) {
		for _, o := range objects {
			all = append(all, o.Manifest)
		}
	}
	add(w.Objects...)
	for _, g := range w.Groups {
		add(g.Config...)
		add(g.Services...)
		add(g.Set)
		set := g.Set.Manifest.(*appsv1.StatefulSet)
		for n := range int(*set.Spec.Replicas) {
			pod := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *set.Spec.Template.Spec.DeepCopy()}
			pod.Namespace, pod.Name = set.Namespace, fmt.Sprintf("%s-%d", set.Name, n)
			pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, "10.1.2.3"
			for _, template := range set.Spec.VolumeClaimTemplates {
				claim := template.DeepCopy()
				claim.Namespace, claim.Name, claim.Labels = set.Namespace, template.Name+"-"+pod.Name, set.Labels
				all = append(all, claim)
			}
			all = append(all, pod)
		}
	}
	return tc, all
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestPack: an unpacked object is the packed one, except for what trim drops.
func TestPack(t *testing.T) {
	_, all := belongings(t, "basic")
	for _, obj := range all {
		o := obj.(interface {
			encodable
			k8s.Object
		})
		t.Run(fmt.Sprintf("%T %s", o, o.GetName()), func(t *testing.T) {
			o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // objects that typed clients read have none
			o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl"}})
			p := keep(t, o).(*packed)
			again, err := trim(p)
			if err != nil || again != any(p) {
				t.Errorf("packed twice: %v, %v", again, err)
			}
			if meta := p.GetObjectMeta(); meta.GetName() != o.GetName() || meta.GetNamespace() != "db" || p.instance != "basic" {
				t.Errorf("it is %+v, of %s", meta, p.instance)
			}
			if len(o.GetManagedFields()) > 0 {
				t.Error("it has managed fields")
			}
			got, err := decode(o, p)
			if err != nil || !apiequality.Semantic.DeepEqual(got, any(o)) {
				t.Errorf("%v\nwent in:  %+v\ncame out: %+v", err, o, got)
			}
			p.body = p.body[:len(p.body)/2]
			if _, err := decode(o, p); err == nil || !strings.Contains(err.Error(), "db/"+o.GetName()) {
				t.Errorf("of half of it: %v", err)
			}
		})
	}
}

func keep(t *testing.T, o any) any {
	t.Helper()
	got, err := trim(o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func decode(like any, p *packed) (any, error) {
	switch like.(type) {
	case *corev1.Pod:
		return unpack[corev1.Pod](p)
	case *corev1.Service:
		return unpack[corev1.Service](p)
	case *corev1.ConfigMap:
		return unpack[corev1.ConfigMap](p)
	case *corev1.PersistentVolumeClaim:
		return unpack[corev1.PersistentVolumeClaim](p)
	}
	return unpack[appsv1.StatefulSet](p)
}

// TestWanted: an unpacked TidbCluster is the packed one, with its status, and its cluster is known
// without unpacking.
func TestWanted(t *testing.T) {
	tc, _ := belongings(t, "basic")
	tc.Labels = map[string]string{topology.LabelInstance: "another"}
	tc.Status.ClusterID = "7"
	tc.Status.PD.Members = map[string]v1alpha1.PDMember{"basic-pd-0": {Name: "basic-pd-0", Health: true, LastTransitionTime: metav1.Unix(1e9, 0)}}
	obj, err := keepWanted(tc)
	if err != nil {
		t.Fatal(err)
	}
	w := obj.(*wanted)
	if got, err := w.cluster(); err != nil || !apiequality.Semantic.DeepEqual(got, tc) {
		t.Errorf("%v\nwent in:  %+v\ncame out: %+v", err, tc, got)
	}
	if of, err := clusterOf(w); err != nil || of[0] != "db/another" {
		t.Errorf("it is of %v, %v", of, err)
	}
	if again, err := keepWanted(w); err != nil || again != any(w) {
		t.Errorf("packed twice: %v, %v", again, err)
	}
	w.body = w.body[:len(w.body)/2]
	if _, err := w.cluster(); err == nil || !strings.Contains(err.Error(), "db/basic") {
		t.Errorf("of half of it: %v", err)
	}
}

// TestBroken: an object that cannot be decoded does not count as deleted.
func TestBroken(t *testing.T) {
	s := setup(t, nil)
	m, err := newMirror(s.kube, intent.New(s.dyn), Scope{})
	if err != nil {
		t.Fatal(err)
	}
	tc, all := belongings(t, "basic")
	source, pods := m.sourceOf(basic), 0
	for _, o := range all {
		if _, ok := o.(*corev1.Pod); !ok {
			continue
		}
		pods++
		p := keep(t, o).(*packed)
		if err := m.pods.GetStore().Add(p); err != nil {
			t.Fatal(err)
		}
		if got, err := source.Objects(t.Context(), topology.New(tc)); err != nil || len(got.Pods) != pods {
			t.Fatalf("%d pods, %v", len(got.Pods), err)
		}
		if pods == 8 {
			p.body = []byte{1}
		}
	}
	if got, err := source.Objects(t.Context(), topology.New(tc)); err == nil {
		t.Errorf("of 8 pods of which one is damaged it shows %d", len(got.Pods))
	}
	if _, err := m.pod(t.Context(), "db", "basic-nobody-0"); !apierrors.IsNotFound(err) {
		t.Errorf("a pod that does not exist: got %v, want NotFound", err)
	}
	if pod, err := m.pod(t.Context(), "db", "basic-pd-0"); err != nil || pod.Status.PodIP != "10.1.2.3" {
		t.Errorf("%v, %v", pod, err)
	}
}

// TestSmall: the packed objects of a cluster take a fifth of the memory that they take decoded. The
// benchmark measures the rest of a daemon's memory.
func TestSmall(t *testing.T) {
	const clusters, most = 50, 32 << 10
	before := heap()
	index := cache.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc, cache.Indexers{byCluster: clusterOf})
	for i := range clusters {
		tc, all := belongings(t, fmt.Sprintf("many%04d", i))
		kept, err := keepWanted(tc)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range append(all, kept) {
			if err := index.Add(keep(t, o)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if per := (heap() - before) / clusters; per > most {
		t.Errorf("%d bytes for each cluster, want %d at most", per, most)
	}
	runtime.KeepAlive(index)
}
