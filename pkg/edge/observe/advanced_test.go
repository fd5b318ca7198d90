package observe

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/ledger"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/sets"
	"github.com/kubectl-tidb/kubectl-tidb/test/memoryapi"
)

// apiServer is an API server with the objects of a cluster.
type apiServer struct {
	*memoryapi.Server
	kube kubernetes.Interface
	tc   *v1alpha1.TidbCluster
	c    topology.Cluster
}

func newAPIServer(t *testing.T, advanced bool) *apiServer {
	t.Helper()
	s := &apiServer{Server: memoryapi.New(), tc: small()}
	if advanced {
		s.ServeAdvanced()
	}
	server := httptest.NewServer(s.Server)
	t.Cleanup(server.Close)
	var err error
	if s.kube, err = kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1}); err != nil {
		t.Fatal(err)
	}
	s.c = topology.New(s.tc)
	return s
}

// set writes the StatefulSet of a component.
func (s *apiServer) set(t *testing.T, k topology.Kind, advanced bool, slots string) {
	t.Helper()
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: s.c.SetName(k), Labels: s.c.Labels(k), Annotations: map[string]string{"delete-slots": slots}},
		Spec:       appsv1.StatefulSetSpec{Replicas: new(int32(2))},
	}
	if _, err := sets.Of(s.kube, "db", advanced).Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// pod writes a pod of a component with a controller.
func (s *apiServer) pod(k topology.Kind, n int, apiVersion string) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: s.c.PodName(k, n), Labels: s.c.Labels(k)}}
	if apiVersion != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: "StatefulSet", Name: s.c.SetName(k), UID: "x", Controller: new(true)}}
	}
	s.Put(schema.GroupResource{Resource: "pods"}, pod)
}

// claim writes the claim of a component's first member.
func (s *apiServer) claim(k topology.Kind) {
	var claim runtime.Object = &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "db", Name: k.DataVolume() + "-" + s.c.PodName(k, 0), Labels: s.c.Labels(k),
	}}
	s.Put(schema.GroupResource{Resource: "persistentvolumeclaims"}, claim)
}

// record writes what a run has recorded that was killed while it made an AdvancedStatefulSet again.
func (s *apiServer) record() {
	s.Put(schema.GroupResource{Resource: "configmaps"}, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: s.c.LedgerMap(), Labels: s.c.Selector()},
		Data:       map[string]string{ledger.SetsKey: ledger.RecordOfSets},
	})
}

func (s *apiServer) observer() *Observer {
	return New(s.kube, dial.Any(&network{}), func(context.Context) (*v1alpha1.TidbCluster, error) { return s.tc, nil }, func() time.Time { return noon })
}

// TestAdvanced: which kind of StatefulSets a cluster has is seen by its pods, and without pods by the slots that it asks
// for. A cluster with neither costs no request.
func TestAdvanced(t *testing.T) {
	const native, advanced = "apps/v1", "apps.pingcap.com/v1"
	for _, tt := range []struct {
		name   string
		served bool
		make   func(*testing.T, *apiServer)
		want   bool
		more   int64 // requests, more than those for any cluster
	}{
		{"nothing", true, func(*testing.T, *apiServer) {}, false, 0},
		{"pods of StatefulSets", true, func(t *testing.T, s *apiServer) { s.set(t, "tikv", false, ""); s.pod("tikv", 0, native) }, false, 0},
		{"with slots all the same", true, func(t *testing.T, s *apiServer) {
			topology.AskSlots(s.tc, topology.TiKV, []int{1})
			s.pod("tikv", 0, native)
		}, false, 0},
		{"pods without a controller", true, func(_ *testing.T, s *apiServer) { s.pod("tikv", 0, "") }, false, 0},
		{"pods of AdvancedStatefulSets", true, func(t *testing.T, s *apiServer) {
			s.set(t, "tikv", true, "[1]")
			s.pod("tikv", 0, advanced)
		}, true, 1},
		{"a pod of an older version of these", true, func(_ *testing.T, s *apiServer) { s.pod("tikv", 0, "apps.pingcap.com/v1alpha1") }, true, 1},
		{"slots, no pods, and a set", true, func(t *testing.T, s *apiServer) {
			topology.AskSlots(s.tc, topology.TiKV, []int{1})
			s.set(t, "tikv", true, "[1]")
		}, true, 2},
		{"slots, no pods, and data", true, func(_ *testing.T, s *apiServer) {
			topology.AskSlots(s.tc, topology.TiKV, []int{1})
			s.claim(topology.TiKV)
		}, true, 2},
		{"pods without a controller, and a record", true, func(_ *testing.T, s *apiServer) { s.pod("tikv", 0, ""); s.record() }, true, 2},
		{"a record, and pods of StatefulSets", true, func(_ *testing.T, s *apiServer) { s.pod("tikv", 0, native); s.record() }, false, 0},
		{"a record, and a StatefulSet without pods", true, func(t *testing.T, s *apiServer) { s.set(t, "tikv", false, ""); s.record() }, false, 0},
		{"slots of a new cluster", true, func(_ *testing.T, s *apiServer) { topology.AskSlots(s.tc, topology.TiKV, []int{1}) }, false, 2},
		{"slots, and no such kind", false, func(_ *testing.T, s *apiServer) {
			topology.AskSlots(s.tc, topology.TiKV, []int{1})
			s.claim(topology.TiKV)
		}, false, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newAPIServer(t, tt.served)
			tt.make(t, s)
			before := s.Requests()
			got, err := live{s.kube, nil}.Objects(t.Context(), topology.New(s.tc))
			if err != nil || got.Advanced != tt.want {
				t.Fatalf("advanced %t, want %t: %v", got.Advanced, tt.want, err)
			}
			// One of the parts is read only for a cluster that uses the PD of another one.
			if n := s.Requests() - before - int64(len(parts)-1); n != tt.more {
				t.Errorf("%d more requests, want %d", n, tt.more)
			}
		})
	}
}

// TestAdvancedGone: where a run was killed while it made an AdvancedStatefulSet again, nothing is observed without that
// kind. A StatefulSet of Kubernetes would adopt the pods.
func TestAdvancedGone(t *testing.T) {
	s := newAPIServer(t, false)
	s.pod("tikv", 0, "")
	s.record()
	if _, err := (live{s.kube, nil}).Objects(t.Context(), topology.New(s.tc)); err == nil || !strings.Contains(err.Error(), "no such kind now") {
		t.Errorf("observed: %v", err)
	}
}

// TestAdvancedObservation: members have the ordinals of the AdvancedStatefulSet, and its kind is that of the client that
// writes.
func TestAdvancedObservation(t *testing.T) {
	s := newAPIServer(t, true)
	topology.AskSlots(s.tc, topology.TiKV, []int{1, 2})
	s.tc.Spec.TiKV.Replicas = 2
	s.set(t, topology.TiKV, true, "[1]")
	s.pod(topology.TiKV, 0, "apps.pingcap.com/v1")
	s.pod(topology.TiKV, 2, "apps.pingcap.com/v1")
	o := s.observer()
	seen, err := o.Observe(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	g := seen.Snapshot.Groups[topology.TiKV]
	var names []string
	for _, m := range g.Members {
		names = append(names, m.Name)
		if m.Pod != nil && m.Pod.Controller != "" {
			t.Errorf("%s has another controller: %s", m.Name, m.Pod.Controller)
		}
	}
	if got := strings.Join(names, " "); got != "basic-tikv-0 basic-tikv-2 basic-tikv-3" {
		t.Errorf("members %s", got)
	}
	want, _ := seen.Cluster.Group(topology.TiKV)
	if !seen.Cluster.Advanced || len(want.Slots) != 2 || len(g.Set.Slots) != 1 || g.Set.Replicas != 2 || !g.Set.Exists || g.Set.Other != "" {
		t.Errorf("wanted slots %v; StatefulSet %+v", want.Slots, g.Set)
	}
	if set, err := o.Sets().Get(t.Context(), "basic-tikv", metav1.GetOptions{}); err != nil || set.APIVersion != "apps.pingcap.com/v1" {
		t.Errorf("%v, %+v", err, set)
	}
}

// TestBothKinds: pods and StatefulSets of the other kind are named.
func TestBothKinds(t *testing.T) {
	s := newAPIServer(t, true)
	s.set(t, topology.TiKV, true, "")
	s.set(t, topology.TiKV, false, "")
	s.pod(topology.TiKV, 0, "apps.pingcap.com/v1")
	s.pod(topology.TiDB, 0, "apps/v1")
	seen, err := s.observer().Observe(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	if got := seen.Snapshot.Groups[topology.TiKV].Set; got.Other != "a StatefulSet of apps/v1" {
		t.Errorf("%+v", got)
	}
	if got := seen.Snapshot.Groups[topology.TiDB].Members[0].Pod.Controller; got != "StatefulSet basic-tidb of apps/v1" {
		t.Errorf("controller %q", got)
	}
}

// TestAdvancedForbidden: what may not be read is no plain cluster.
func TestAdvancedForbidden(t *testing.T) {
	s := newAPIServer(t, false)
	s.pod(topology.TiKV, 0, "apps.pingcap.com/v1")
	var all Objects
	err := all.FindAdvanced(s.c, func() (bool, error) { return true, nil }, func() ([]*appsv1.StatefulSet, error) { return nil, nil })
	if err != nil || all.Advanced {
		t.Errorf("without pods: %t, %v", all.Advanced, err)
	}
	denied := context.DeadlineExceeded
	all.Pods = []*corev1.Pod{s.Get(schema.GroupResource{Resource: "pods"}, "db", "basic-tikv-0").(*corev1.Pod)}
	err = all.FindAdvanced(s.c, func() (bool, error) { return true, nil }, func() ([]*appsv1.StatefulSet, error) { return nil, denied })
	if err == nil {
		t.Error("an error is lost")
	}
}

// TestSetsOfAll: the claims of an AdvancedStatefulSet are kept by it.
func TestSetsOfAll(t *testing.T) {
	for _, advanced := range []bool{false, true} {
		s := newAPIServer(t, advanced)
		s.set(t, topology.PD, false, "")
		s.set(t, topology.TiKV, true, "[0]")
		all, err := Sets(t.Context(), s.kube, "db", true)
		if want := 1; err != nil || !advanced && len(all) != want || advanced && len(all) != want+1 {
			t.Errorf("advanced %t: %v, %d", advanced, err, len(all))
		}
	}
}

// TestSetsWithoutRights: a user without rights for AdvancedStatefulSets gets the others, where these are enough.
func TestSetsWithoutRights(t *testing.T) {
	s := newAPIServer(t, true)
	s.set(t, topology.PD, false, "")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/apis/apps.pingcap.com/v1/namespaces/") {
			http.Error(w, "statefulsets.apps.pingcap.com is forbidden: User cannot list", http.StatusForbidden)
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	kube, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if all, err := Sets(t.Context(), kube, "db", false); err != nil || len(all) != 1 {
		t.Errorf("%d, %v", len(all), err)
	}
	if _, err := Sets(t.Context(), kube, "db", true); err == nil {
		t.Error("what may not be read is as if it was not there")
	}
}

// TestWatchAdvanced: AdvancedStatefulSets are watched as soon as the cluster has been seen to have some.
func TestWatchAdvanced(t *testing.T) {
	o := &Observer{}
	watches := 0
	o.watchAdvanced = func() { watches++ }
	for range 2 {
		o.noteAdvanced(false)
	}
	if watches != 0 {
		t.Error("a cluster without them")
	}
	for range 2 {
		o.noteAdvanced(true)
	}
	if watches != 1 {
		t.Errorf("watched %d times", watches)
	}
}
