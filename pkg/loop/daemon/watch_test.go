package daemon

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// silence makes the watches of an API server report nothing, until ends is called.
type silence struct {
	mu      sync.Mutex
	lasts   bool
	watches []*watch.FakeWatcher
}

func (s *fixture) silence() *silence {
	x := &silence{lasts: true}
	for _, f := range []*clienttesting.Fake{&s.kube.Fake, &s.dyn.Fake} {
		f.PrependWatchReactor("*", func(clienttesting.Action) (bool, watch.Interface, error) {
			x.mu.Lock()
			defer x.mu.Unlock()
			if !x.lasts {
				return false, nil, nil
			}
			w := watch.NewFake()
			x.watches = append(x.watches, w)
			return true, w, nil
		})
	}
	return x
}

// ends lets all watches expire, so that the events which they missed are lost. New watches report
// events again.
func (x *silence) ends() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.lasts = false
	for _, w := range x.watches {
		w.Error(&metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "too old resource version",
		})
		w.Stop()
	}
	x.watches = nil
}

func (s *fixture) lists() int {
	n := 0
	for _, a := range append(s.kube.Actions(), s.dyn.Actions()...) {
		if a.GetVerb() == "list" {
			n++
		}
	}
	return n
}

func (s *fixture) change(t *testing.T, change func(*unstructured.Unstructured)) {
	t.Helper()
	tcs := s.dyn.Resource(intent.Resource).Namespace("db")
	u, err := tcs.Get(t.Context(), "basic", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	change(u)
	if _, err := tcs.Update(t.Context(), u, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func paused(yes bool) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) { _ = unstructured.SetNestedField(u.Object, yes, "spec", "paused") }
}

// TestWatchesExpire: a mirror whose watches have expired (410 Gone) lists everything again, and the
// daemon sees what it has missed: a change of the spec, an object deleted by hand, and that the
// cluster was deleted.
func TestWatchesExpire(t *testing.T) {
	t.Run("the spec has changed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := setup(t, paused(true))
			quiet := s.silence()
			stop := s.run(t, "a")
			pass(time.Minute)
			s.change(t, paused(false))
			pass(5 * time.Minute)
			if made := s.made(t); len(made) > 0 {
				t.Errorf("this shows nothing: it was seen without a watch, and made %q", made)
			}
			lists := s.lists()
			quiet.ends()
			pass(time.Minute)
			if made := s.made(t); !slices.Contains(made, "statefulset basic-pd") || s.lists() < lists+7 {
				t.Errorf("it has made %q, and listed %d times", made, s.lists()-lists)
			}
			stop()
		})
	})
	t.Run("an object was deleted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := setup(t, nil)
			stop := s.run(t, "a")
			pass(time.Minute)
			stop()
			want := s.made(t)
			quiet := s.silence()
			stop = s.run(t, "b")
			pass(time.Minute)
			if err := s.kube.CoreV1().Services("db").Delete(t.Context(), "basic-pd-peer", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			pass(time.Minute)
			if slices.Equal(s.made(t), want) {
				t.Error("this shows nothing: it was seen without a watch")
			}
			quiet.ends()
			pass(time.Minute)
			if got := s.made(t); !slices.Equal(got, want) {
				t.Errorf("there is %q, want %q", got, want)
			}
			stop()
		})
	})
	t.Run("the cluster was deleted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := setup(t, paused(true))
			quiet := s.silence()
			stop := s.run(t, "a")
			pass(time.Minute)
			if err := s.dyn.Resource(intent.Resource).Namespace("db").Delete(t.Context(), "basic", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			pass(time.Minute)
			if s.vanished() {
				t.Error("this shows nothing: it was seen without a watch")
			}
			quiet.ends()
			pass(time.Minute)
			if !s.vanished() {
				t.Error("the cluster is still kept")
			}
			stop()
		})
	})
}
