package lease

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// requests returns the number of requests that f sends.
func requests(client *fake.Clientset, f func()) int {
	client.ClearActions()
	f()
	return len(client.Actions())
}

// due returns a replica with a Stepped lease whose renewal is due now.
func due(t *testing.T, client *fake.Clientset) *replica {
	t.Helper()
	r := newReplica(client, "ann", time.Now())
	r.second(t)
	r.now = r.now.Add(yielding.renewEvery)
	return r
}

// conflicts makes updates fail with a conflict, after f has written in between.
func conflicts(client *fake.Clientset, f func()) {
	client.PrependReactor("update", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
		f()
		return true, nil, apierrors.NewConflict(a.GetResource().GroupResource(), cluster.LeaseName(), nil)
	})
}

// A renewal is one request, also after one that met the edit of another writer.
func TestRenewalIsOneRequest(t *testing.T) {
	client := api()
	r := due(t, client)
	for range 3 {
		if n := requests(client, func() { r.held.Tick() }); n != 1 {
			t.Errorf("%d requests", n)
		}
	}
	l := get(t, client)
	l.Labels = map[string]string{"team": "dba"}
	if _, err := client.CoordinationV1().Leases("db").Update(t.Context(), l, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if pause := r.held.Tick(); pause != yielding.renewEvery || r.held.Context().Err() != nil {
		t.Errorf("an edit: next in %s, %v", pause, context.Cause(r.held.Context()))
	}
	if n := requests(client, func() { r.held.Tick() }); n != 1 {
		t.Errorf("after an edit: %d requests", n)
	}
}

// After a release, and during it, the lease is not renewed and does not count as lost.
func TestTickAfterRelease(t *testing.T) {
	client := api()
	r := due(t, client)
	client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		r.held.stop()
		return true, nil, errors.New("connection refused")
	})
	if pause := r.held.Tick(); pause != 0 || r.held.Context().Err() != nil {
		t.Errorf("next in %s, %v", pause, context.Cause(r.held.Context()))
	}
	client = api()
	r = due(t, client)
	if err := r.held.Release(); err != nil {
		t.Fatal(err)
	}
	if n := requests(client, func() {
		if pause := r.held.Tick(); pause != 0 {
			t.Errorf("next in %s", pause)
		}
	}); n != 0 {
		t.Errorf("%d requests after the release", n)
	}
	if cause := context.Cause(r.held.Context()); !errors.Is(cause, context.Canceled) {
		t.Errorf("cause %v", cause)
	}
}

// Release ends the renewal, also of a lease that renews itself.
func TestReleaseEndsRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := api()
		h := acquire(t, client, "ann")
		if err := h.Release(); err != nil {
			t.Fatal(err)
		}
		if n := requests(client, func() {
			time.Sleep(3 * keeping.renewEvery)
			synctest.Wait()
		}); n != 0 {
			t.Errorf("%d requests after the release", n)
		}
	})
}

// A holder that was asked for its lease keeps and renews it until its current step has ended, and
// then releases it.
func TestAskedKeepsIt(t *testing.T) {
	client := api()
	r := due(t, client)
	if err := Ask(t.Context(), client, cluster, someone("bob")); err != nil {
		t.Fatal(err)
	}
	if pause := r.held.Tick(); pause != retryEvery || r.held.Context().Err() == nil || !r.may(t) {
		t.Errorf("next in %s; it may write: %t; %v", pause, r.may(t), context.Cause(r.held.Context()))
	}
	for range 3 {
		if n := requests(client, func() {
			if pause := r.held.Tick(); pause != yielding.renewEvery || !r.may(t) {
				t.Errorf("next in %s; it may write: %t", pause, r.may(t))
			}
		}); n != 1 {
			t.Errorf("%d requests for a renewal", n)
		}
	}
	for range 3 { // repeated requests must not prevent the renewal
		if err := Ask(t.Context(), client, cluster, someone("bob")); err != nil {
			t.Fatal(err)
		}
		if pause := r.held.Tick(); pause != yielding.renewEvery || !r.may(t) {
			t.Errorf("next in %s; it may write: %t", pause, r.may(t))
		}
	}
	if err := r.held.Release(); err != nil || get(t, client).Spec.HolderIdentity != nil {
		t.Errorf("not released: %v", err)
	}
}

// A lease that was just asked for is released like any other.
func TestReleaseWhenAsked(t *testing.T) {
	client := api()
	r := due(t, client)
	if err := Ask(t.Context(), client, cluster, someone("bob")); err != nil {
		t.Fatal(err)
	}
	if err := r.held.Release(); err != nil || get(t, client).Spec.HolderIdentity != nil {
		t.Errorf("not released: %v", err)
	}
}

// A deleted lease is lost, and so is one that was recreated since: another process could have held
// it in between.
func TestGoneIsLost(t *testing.T) {
	leases := coordinationv1.SchemeGroupVersion.WithResource("leases")
	for name, change := range map[string]func(*fake.Clientset){
		"deleted": func(client *fake.Clientset) {
			_ = client.Tracker().Delete(leases, "db", cluster.LeaseName())
		},
		"deleted after a conflict": func(client *fake.Clientset) {
			conflicts(client, func() { _ = client.Tracker().Delete(leases, "db", cluster.LeaseName()) })
		},
		"recreated": func(client *fake.Clientset) {
			l := record(someone("ann").String(), time.Now())
			l.UID, l.ResourceVersion = "another", "99"
			_ = client.Tracker().Delete(leases, "db", cluster.LeaseName())
			_ = client.Tracker().Add(l)
		},
	} {
		client := api()
		r := due(t, client)
		change(client)
		if pause := r.held.Tick(); pause != 0 || !errors.Is(context.Cause(r.held.Context()), ErrLost) || r.may(t) {
			t.Errorf("%s: next in %s, %v", name, pause, context.Cause(r.held.Context()))
		}
	}
}

// If the record cannot be read after a conflict, the renewal is tried again.
func TestConflictThenSilence(t *testing.T) {
	client := api()
	r := due(t, client)
	conflicts(client, func() {})
	client.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("connection refused")
	})
	if pause := r.held.Tick(); pause != retryEvery || r.held.Context().Err() != nil || !r.may(t) {
		t.Errorf("next in %s, %v", pause, context.Cause(r.held.Context()))
	}
}

// A renewal that hangs leaves time for another one, and ends before others may take over.
func TestRenewalTimeout(t *testing.T) {
	for silent, want := range map[time.Duration]time.Duration{
		keeping.renewEvery:               callTimeout,
		22 * time.Second:                 2 * time.Second,
		keeping.renewWithin - 1:          retryEvery,
		keeping.renewWithin + retryEvery: retryEvery,
	} {
		synctest.Test(t, func(t *testing.T) {
			var most time.Duration
			l := connect(api())
			l.asked = func(ctx context.Context) {
				end, _ := ctx.Deadline()
				most = time.Until(end)
			}
			now := time.Now()
			held, err := NewBid(l, cluster, someone("ann")).Stepped(func() time.Time { return now }).Try(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			now = now.Add(silent)
			if err := held.renewOnce(t.Context()); err != nil || most != want {
				t.Errorf("after %s: %s, want %s; %v", silent, most, want, err)
			}
		})
	}
}

// The record that is kept of a released lease is small: a daemon keeps one for each cluster.
func TestReleasedRecordIsSmall(t *testing.T) {
	client := api()
	r := due(t, client)
	r.held.live.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	if err := r.held.Release(); err != nil || r.held.releasedRecord() == nil || r.held.releasedRecord().ManagedFields != nil {
		t.Errorf("kept: %+v, %v", r.held.releasedRecord(), err)
	}
}

// Release waits for a renewal that is under way: its answer would otherwise be about a record that
// is not ours any more.
func TestReleaseWaitsForRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := connect(api())
		l.asked = func(context.Context) { // of the first renewal
			l.asked = nil
			<-time.After(time.Second)
		}
		held, err := NewBid(l, cluster, someone("ann")).Try(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		<-time.After(keeping.renewEvery + retryEvery/2)
		if err := held.Release(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took != keeping.renewEvery+time.Second {
			t.Errorf("released after %s", took)
		}
	})
}
