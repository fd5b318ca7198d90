package daemon

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// TestMain removes client-go's error handlers. They remember when they were last called and sleep
// until the next time; in another synctest bubble, with another clock, that takes centuries.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil
	m.Run()
}

// fail lets requests fail for which the function returns an error.
func (s *fixture) fail(answer func(clienttesting.Action) error) {
	for _, f := range []*clienttesting.Fake{&s.kube.Fake, &s.dyn.Fake} {
		f.PrependReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
			err := answer(a)
			return err != nil, nil, err
		})
		f.PrependWatchReactor("*", func(a clienttesting.Action) (bool, watch.Interface, error) {
			err := answer(a)
			return err != nil, nil, err
		})
	}
}

// made returns the names of the objects that a daemon has created.
func (s *fixture) made(t *testing.T) []string {
	t.Helper()
	var names []string
	sets, err := s.kube.AppsV1().StatefulSets("db").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range sets.Items {
		names = append(names, "statefulset "+sets.Items[i].Name)
	}
	services, err := s.kube.CoreV1().Services("db").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range services.Items {
		names = append(names, "service "+services.Items[i].Name)
	}
	slices.Sort(names)
	return names
}

// TestRefusals: an API server that refuses every tenth request, as an overloaded one does, delays
// the changes, but the result is the same.
func TestRefusals(t *testing.T) {
	var want []string
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, nil)
		stop := s.run(t, "a")
		pass(5 * time.Minute)
		stop()
		want = s.made(t)
	})
	if len(want) < 3 {
		t.Fatalf("without faults it makes only %q", want)
	}
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) {
			s := setup(t, nil)
			var mu sync.Mutex
			chance, refused, over := rand.New(rand.NewPCG(seed, 0)), 0, false
			s.fail(func(clienttesting.Action) error {
				mu.Lock()
				defer mu.Unlock()
				if over || chance.Float64() > .1 {
					return nil
				}
				refused++
				if chance.IntN(2) == 0 {
					return apierrors.NewTooManyRequests("later", 1)
				}
				return apierrors.NewInternalError(errBroken)
			})
			stop := s.run(t, "a")
			pass(5 * time.Minute)
			mu.Lock()
			over = true
			mu.Unlock()
			stop()
			if got := s.made(t); refused == 0 || !slices.Equal(got, want) {
				t.Errorf("seed %d: after %d refusals it has made %q, want %q", seed, refused, got, want)
			}
		})
	}
}

// TestOutage: a daemon without an API server for a minute loses its lease, and drives the cluster
// again when the API server is back.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, nil)
		var mu sync.Mutex
		away := false
		turn := func(to bool) {
			mu.Lock()
			defer mu.Unlock()
			away = to
		}
		s.fail(func(clienttesting.Action) error {
			mu.Lock()
			defer mu.Unlock()
			if away {
				return apierrors.NewServiceUnavailable("away")
			}
			return nil
		})
		holds := func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.held["a"]
		}
		stop := s.run(t, "a")
		pass(20 * time.Second)
		if !holds() {
			t.Error("it does not drive the cluster")
		}
		turn(true)
		pass(time.Minute)
		if holds() {
			t.Error("it drives the cluster, though it cannot have renewed its lease")
		}
		turn(false)
		pass(2 * lastRetry)
		if !holds() {
			t.Error("it does not drive the cluster again")
		}
		stop()
		s.mu.Lock()
		defer s.mu.Unlock()
		if !slices.ContainsFunc(s.events, func(e event.Event) bool { return e.Type == event.Failed }) {
			t.Error("no event reports the outage")
		}
	})
}
