package drive

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/start"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// heard records the notices that a Progress reports.
type heard struct {
	mu      sync.Mutex // a timer reports as well
	notices []string
}

func (h *heard) Report(e event.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notices = append(h.notices, strings.TrimSuffix(e.Message+"; "+e.Help(), "; "))
}

func (h *heard) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.notices)
}

func (h *heard) progress(now func() time.Time) *reconcile.Progress {
	return reconcile.NewProgress("ns", "t", now, h)
}

// session returns a session for a cluster t in namespace ns.
func session(objects ...runtime.Object) *target.Session {
	tc := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "pingcap.com/v1alpha1", "kind": "TidbCluster",
		"metadata": map[string]any{"namespace": "ns", "name": "t"}, "spec": map[string]any{},
	}}
	dyn := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{intent.Resource: "TidbClusterList"}, tc)
	kube := fake.NewClientset(objects...)
	return &target.Session{
		Namespace: "ns", Name: "t", Connections: start.Connections{Kube: kube, Intent: intent.New(dyn)},
		Operators: lease.NewOperators(kube),
	}
}

// elected returns the leader election record of an operator that is alive now.
func elected(renewed time.Time) *coordinationv1.Lease {
	at, seconds, who := metav1.NewMicroTime(renewed), int32(15), "tidb-controller-manager-5d8f7-x2x4z"
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: "tidb-controller-manager", UID: "op"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &who, LeaseDurationSeconds: &seconds, AcquireTime: &at, RenewTime: &at},
	}
}

func namespaced() *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: "tidb-controller-manager"},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Args: []string{"-cluster-scoped=false"}}},
		}}},
	}
}

var itself = topology.Cluster{Namespace: "ns", Name: "t", Instance: "t"}

func TestHold(t *testing.T) {
	for name, tc := range map[string]struct {
		objects []runtime.Object
		o       flags.Options
		hidden  bool
		by      string
		says    []string
	}{
		"no other driver": {},
		"an operator": {
			objects: []runtime.Object{elected(time.Now())},
			by:      "tidb-operator tidb-controller-manager-5d8f7-x2x4z in namespace ops",
			says:    []string{"cannot be read from its Deployment"},
		},
		"an operator of another namespace": {objects: []runtime.Object{elected(time.Now()), namespaced()}},
		"an operator that is overridden":   {objects: []runtime.Object{elected(time.Now())}, o: flags.Options{TakeOver: true}},
		"operators elsewhere are unknown":  {hidden: true, says: []string{"leases of all namespaces may not be listed"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, h := session(tc.objects...), &heard{}
			if tc.hidden {
				s.Kube.(*fake.Clientset).PrependReactor("list", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
					return a.GetNamespace() == "", nil, apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "", nil)
				})
			}
			for range 2 { // reported once
				held, by, err := run{Session: s, o: tc.o, progress: h.progress(time.Now)}.hold(t.Context(), itself)
				if err != nil || (held != nil) == (tc.by != "") || by != nil && by.name != tc.by {
					t.Errorf("got %v, %+v, %v", held, by, err)
				}
				if held != nil {
					_ = held.Release()
				}
			}
			if len(h.all()) != len(tc.says) || len(tc.says) > 0 && !strings.Contains(h.all()[0], tc.says[0]) {
				t.Errorf("says %q", h.all())
			}
		})
	}
}

// While it is unknown whether an operator drives the cluster, its Lease is not taken.
func TestHoldUnknown(t *testing.T) {
	s, h := session(elected(time.Now()), namespaced()), &heard{}
	busy := apierrors.NewTooManyRequests("later", 1)
	listLeases(s, func() error { return busy })
	r := run{Session: s, progress: h.progress(time.Now)}
	if held, by, err := r.hold(t.Context(), itself); !errors.Is(err, busy) {
		t.Errorf("got %v, %+v, %v", held, by, err)
	}
	if _, err := s.Kube.CoordinationV1().Leases("ns").Get(t.Context(), itself.LeaseName(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Lease is taken: %v", err)
	}
}

// If the list of leases fails, nothing is known about the operator that is followed.
func TestFailedCheckEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := session()
		var answers atomic.Bool
		listLeases(s, func() error {
			if answers.Load() {
				return nil
			}
			return apierrors.NewServiceUnavailable("restarts")
		})
		ctx, over := untilOperator(t.Context(), s, false, func(lease.Operator) error { return errVacant })
		defer over()
		time.Sleep(2*operatorEvery + time.Second)
		synctest.Wait()
		if ctx.Err() != nil {
			t.Fatalf("ends with %v", context.Cause(ctx))
		}
		answers.Store(true)
		time.Sleep(operatorEvery)
		synctest.Wait()
		if !errors.Is(context.Cause(ctx), errVacant) {
			t.Errorf("got %v", context.Cause(ctx))
		}
	})
}

// listLeases makes the lists of leases fail as long as fails returns an error.
func listLeases(s *target.Session, fails func() error) {
	s.Kube.(*fake.Clientset).PrependReactor("list", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		err := fails()
		return err != nil, nil, err
	})
}

// A check that takes long is reported before it is over.
func TestCheckIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := session(elected(time.Now().Add(-time.Minute))), &heard{}
		r := run{Session: s, progress: h.progress(time.Now)}
		if _, drives, _ := r.operator(t.Context(), itself); drives || len(h.all()) != 1 || !strings.Contains(h.all()[0], "up to 10 s") {
			t.Errorf("got %t, %q", drives, h.all())
		}
	})
}

// A run that drives ends when an operator starts to drive, and one that follows ends when the
// operator stops.
func TestUntilOperator(t *testing.T) {
	for name, begins := range map[string]bool{"comes up": true, "goes": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := session()
				leases := s.Kube.CoordinationV1().Leases("ops")
				ctx, over := untilOperator(t.Context(), s, begins, func(op lease.Operator) error { return &operatorCame{op} })
				defer over()
				if !begins {
					_, _ = leases.Create(t.Context(), elected(time.Now().Add(30*time.Second)), metav1.CreateOptions{})
				}
				time.Sleep(45 * time.Second)
				if ctx.Err() != nil {
					t.Fatal("ends without a reason")
				}
				if begins {
					_, _ = leases.Create(t.Context(), elected(time.Now()), metav1.CreateOptions{})
				} else {
					_ = leases.Delete(t.Context(), "tidb-controller-manager", metav1.DeleteOptions{})
				}
				time.Sleep(operatorEvery + time.Second)
				if !errors.As(context.Cause(ctx), new(*operatorCame)) {
					t.Errorf("got %v", context.Cause(ctx))
				}
			})
		})
	}
}

// seeing is an observer of a cluster that tests change, and the waiter of its run.
type seeing struct{ c *plantest.Cluster }

func (s seeing) Observe(context.Context, bool) (state.Observation, error) {
	return state.Observation{Cluster: s.c.Wanted.Cluster, Snapshot: s.c.Seen}, nil
}
func (seeing) Wait(context.Context, plan.Plan, error) error { return nil }

// An operator that does nothing while there is something to do is reported, and not followed for
// ever.
func TestReaction(t *testing.T) {
	busy, calm := plan.Plan{Outcome: plan.Act, Steps: []step.Step{step.Resize{Component: topology.TiDB, From: 2, To: 3}}}, plan.Plan{Outcome: plan.Wait}
	now, h := plantest.Now, &heard{}
	c := plantest.New(1, 1, 1)
	r := &reaction{
		Observer: seeing{c}, Waiter: seeing{c}, progress: h.progress(func() time.Time { return now }),
		now: func() time.Time { return now }, who: "op", advice: remedy.Remedy{remedy.Say("give --take-over")},
	}
	after := func(d time.Duration, p plan.Plan) error {
		now = now.Add(d)
		_, _ = r.Observe(t.Context(), false)
		return r.Wait(t.Context(), p, nil)
	}
	reported := func(n int) {
		t.Helper()
		if len(h.all()) != n {
			t.Errorf("got notices %q, want %d", h.all(), n)
		}
	}
	_ = after(0, busy)
	_ = after(59*time.Second, busy)
	reported(0)
	_ = after(2*time.Second, calm) // it waits for something itself
	_ = after(0, busy)
	c.Set(topology.TiDB, func(s *state.Set) { s.UpdateRevision = "v2" })
	_ = after(55*time.Second, busy) // it has done something
	_ = after(50*time.Second, busy)
	reported(0)
	_ = after(15*time.Second, busy)
	_ = after(15*time.Second, busy)
	reported(1)
	if !strings.Contains(h.all()[0], "give --take-over") {
		t.Errorf("got notices %q", h.all())
	}
	if err := after(5*time.Minute, busy); exit.Of(err) != exit.Refused || !strings.Contains(err.Error(), "scale TiDB from 2 to 3") {
		t.Errorf("got %v", err)
	}
}
