package daemon

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/start"
)

const stored = `
apiVersion: pingcap.com/v1alpha1
kind: TidbCluster
metadata: {namespace: db, name: basic, uid: tc-uid, resourceVersion: "5", generation: 1}
spec:
  version: v8.1.0
  pd: {baseImage: pingcap/pd, replicas: 3, requests: {storage: 1Gi}}
  tikv: {baseImage: pingcap/tikv, replicas: 3, requests: {storage: 1Gi}}
  tidb: {baseImage: pingcap/tidb, replicas: 2}
`

var basic = cache.NewObjectName("db", "basic")

// fixture is a fake API server. It keeps objects and reports changes to watches; it has no
// controllers, so that no pod is ever created.
type fixture struct {
	kube *fake.Clientset
	dyn  *dynamicfake.FakeDynamicClient
	now  func() time.Time

	mu     sync.Mutex
	events []event.Event
	turns  []string
	held   map[string]bool // which daemons drive the cluster
	gone   bool
}

func setup(t *testing.T, change func(*unstructured.Unstructured)) *fixture {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(stored), &u.Object); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(u)
	}
	return &fixture{
		kube: fake.NewClientset(), held: map[string]bool{},
		dyn: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
			map[schema.GroupVersionResource]string{intent.Resource: "TidbClusterList"}, u),
	}
}

// meter records the numbers of one daemon.
type meter struct {
	*fixture
	name string
}

func (m meter) Turn(_ cache.ObjectName, outcome string, _ time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turns = append(m.turns, m.name+": "+outcome)
}

func (m meter) Gates(cache.ObjectName, []plan.Gate) {}

func (m meter) Held(_ cache.ObjectName, held bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held[m.name] = held
}

func (m meter) Gone(cache.ObjectName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone = true
}

func (m meter) Report(e event.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, e)
}

// drives reports whether a daemon says that it drives the cluster. It can be called while the
// daemon runs, as can the methods below.
func (s *fixture) drives(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[name]
}

func (s *fixture) vanished() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

// taken returns the turns so far.
func (s *fixture) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.turns)
}

var errBroken = errors.New("broken")

// nowhere is a dialer whose connections all fail.
type nowhere struct{}

func (nowhere) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("connection refused")
}
func (nowhere) Close() error { return nil }

// run starts a daemon; the function that it returns stops it, and waits for its end.
func (s *fixture) run(t *testing.T, name string) func() {
	t.Helper()
	m := meter{s, name}
	d, err := New(Config{
		Connections: start.Connections{Kube: s.kube, Intent: intent.New(s.dyn), Dialer: dial.Any(nowhere{}), Now: s.now},
		Scope:       Scope{Namespace: "db"}, Workers: 2, Poll: time.Minute, Resync: time.Hour, Meter: m,
		Reporter: func(cache.ObjectName) reconcile.Reporter { return m },
	})
	if err != nil {
		t.Fatal(err)
	}
	if d.Ready() == nil {
		t.Error("ready before the mirror has its first copy")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- d.Run(ctx) }()
	return func() {
		t.Helper()
		if err := errors.Join(d.Ready(), d.Healthy()); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// writes returns the writes that were requested, except those of leases.
func (s *fixture) writes() []string {
	var all []string
	for _, a := range append(s.kube.Actions(), s.dyn.Actions()...) {
		if !slices.Contains([]string{"get", "list", "watch"}, a.GetVerb()) && a.GetResource().Resource != "leases" {
			all = append(all, a.GetVerb()+" "+a.GetResource().Resource)
		}
	}
	return all
}

func (s *fixture) reads() int {
	n := 0
	for _, a := range append(s.kube.Actions(), s.dyn.Actions()...) {
		if a.GetVerb() == "get" || a.GetVerb() == "list" {
			n++
		}
	}
	return n
}

func (s *fixture) lease(t *testing.T) *coordinationv1.Lease {
	t.Helper()
	l, err := s.kube.CoordinationV1().Leases("db").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(l.Items) != 1 {
		t.Fatalf("%d leases, %v", len(l.Items), err)
	}
	return &l.Items[0]
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// TestDrives: the wanted objects are created under a lease, which is released at the end.
func TestDrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, nil)
		stop := s.run(t, "a")
		pass(20 * time.Second)
		set, err := s.kube.AppsV1().StatefulSets("db").Get(t.Context(), "basic-pd", metav1.GetOptions{})
		if err != nil || *set.Spec.Replicas != 3 {
			t.Errorf("PD: %v, %v", set, err)
		}
		if !s.drives("a") || s.lease(t).Spec.HolderIdentity == nil {
			t.Error("it drives the cluster, and does not hold its lease")
		}
		if e := s.events[0]; e.Type != event.Planned || e.Cluster != "basic" || e.Namespace != "db" {
			t.Errorf("the events begin with %+v", e)
		}
		stop()
		if s.drives("a") || s.lease(t).Spec.HolderIdentity != nil {
			t.Error("the lease is still held")
		}
	})
}

// TestTime: decisions and events use the clock that the daemon is given.
func TestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, nil)
		s.now = func() time.Time { return time.Now().Add(-time.Hour) }
		stop := s.run(t, "a")
		pass(20 * time.Second)
		stop()
		for _, e := range s.events {
			if age := time.Since(e.Time); age < time.Hour {
				t.Errorf("%s at %s", e.Type, e.Time)
			}
			if e.Since != nil && time.Since(*e.Since) < time.Hour {
				t.Errorf("waited for since %s", e.Since)
			}
		}
	})
}

// TestPauseEnds: a daemon ends a pause at its time, and goes on. Until then it writes nothing but
// the status.
func TestPauseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, func(u *unstructured.Unstructured) {
			tc := &v1alpha1.TidbCluster{}
			topology.SetPause(tc, topology.Pause{By: "ann@laptop", Since: time.Now(), Until: time.Now().Add(70 * time.Second)})
			u.SetAnnotations(tc.Annotations)
			u.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: topology.PauseManager, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:paused":{}}}`)}})
			_ = unstructured.SetNestedField(u.Object, true, "spec", "paused")
		})
		defer s.run(t, "a")()
		pass(69 * time.Second)
		if sets, err := s.kube.AppsV1().StatefulSets("db").List(t.Context(), metav1.ListOptions{}); err != nil || len(sets.Items) > 0 {
			t.Fatalf("%v, %d StatefulSets while it is paused", err, len(sets.Items))
		}
		pass(10 * time.Second)
		if _, err := s.kube.AppsV1().StatefulSets("db").Get(t.Context(), "basic-pd", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// TestIdle: a cluster with nothing to do costs no writes and no reads.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, func(u *unstructured.Unstructured) { _ = unstructured.SetNestedField(u.Object, true, "spec", "paused") })
		defer s.run(t, "a")()
		pass(2 * time.Minute) // the status says once that it is paused
		s.kube.ClearActions()
		s.dyn.ClearActions()
		turns := len(s.taken())
		pass(30 * time.Minute)
		if got := s.writes(); len(got) > 0 || s.reads() > 0 {
			t.Errorf("wrote %q, read %d times", got, s.reads())
		}
		if n := len(s.taken()) - turns; n < 25 || n > 35 {
			t.Errorf("PD was asked %d times in 30 minutes", n)
		}
		if s.drives("a") {
			t.Error("the lease is held, and renewed")
		}
	})
}

// TestTwo: one of two daemons drives, and when it ends the other one does.
func TestTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, nil)
		stop := map[string]func(){}
		for _, name := range []string{"a", "b"} {
			stop[name] = s.run(t, name)
		}
		pass(time.Minute)
		first, second := "a", "b"
		if s.drives("b") {
			first, second = "b", "a"
		}
		if !s.drives(first) || s.drives(second) {
			t.Fatalf("held by %v", s.held)
		}
		for _, turn := range s.taken() {
			if strings.HasPrefix(turn, second) && turn != second+": held" {
				t.Errorf("%s, but %s drives the cluster", turn, first)
			}
		}
		stop[first]()
		pass(2 * heldPause)
		if s.drives(first) || !s.drives(second) {
			t.Errorf("held by %v", s.held)
		}
		stop[second]()
	})
}

// TestDeleted: nothing is kept of a cluster that was deleted.
func TestDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, nil)
		stop := s.run(t, "a")
		pass(20 * time.Second)
		if err := s.dyn.Resource(intent.Resource).Namespace("db").Delete(t.Context(), "basic", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if !s.vanished() || s.drives("a") {
			t.Errorf("gone: %t, held: %t", s.vanished(), s.drives("a"))
		}
		stop()
	})
}

// TestUndecodable: a TidbCluster that cannot be decoded is reported, and tried again.
func TestUndecodable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(u.Object, "three", "spec", "pd", "replicas")
		})
		stop := s.run(t, "a")
		pass(time.Minute)
		if len(s.events) == 0 || s.events[0].Type != event.Failed || !strings.Contains(s.events[0].Error, "db/basic") {
			t.Errorf("got events %+v", s.events)
		}
		stop()
		if w := s.writes(); len(w) > 0 {
			t.Errorf("wrote %q", w)
		}
	})
}

// TestPanic: a panic in the turn of one cluster does not end the daemon.
func TestPanic(t *testing.T) {
	_, _, err := safely(func() (plan.Plan, time.Duration, error) { panic("unexpected") })
	if err == nil || !strings.Contains(err.Error(), "unexpected") || outcome(plan.Plan{}, err) != "error" {
		t.Errorf("got %v", err)
	}
}

// TestChanged: a changed object puts the cluster that its labels name on the queue, also if its
// deletion was missed.
func TestChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, func(u *unstructured.Unstructured) { _ = unstructured.SetNestedField(u.Object, true, "spec", "paused") })
		d, err := New(Config{Connections: start.Connections{Kube: s.kube, Intent: intent.New(s.dyn)}, Scope: Scope{}, Meter: meter{s, "a"}})
		if err != nil {
			t.Fatal(err)
		}
		defer d.queue.ShutDown()
		if err := d.mirror.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if key, _ := d.queue.Get(); key != basic {
			t.Fatalf("the queue begins with %v", key)
		}
		d.queue.Done(basic)
		set := func(instance string) *appsv1.StatefulSet {
			return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
				Namespace: "db", Name: instance + "-pd", Labels: map[string]string{"app.kubernetes.io/instance": instance},
			}}
		}
		for _, obj := range []any{set("basic"), cache.DeletedFinalStateUnknown{Key: "db/basic-pd", Obj: set("basic")}, set("other"), "nonsense"} {
			d.queueForTurn(obj)
		}
		pass(2 * gather)
		if n := d.queue.Len(); n != 1 {
			t.Errorf("%d clusters are on the queue", n)
		}
	})
}
