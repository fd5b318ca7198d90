package lease

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/kubernetes/fake"
)

// replica is a process with a clock of its own, which runs when a test calls it.
type replica struct {
	bid  *Bid
	now  time.Time
	held *Held
	due  time.Time // when its lease is to be renewed
}

func newReplica(client *fake.Clientset, name string, now time.Time) *replica {
	r := &replica{now: now}
	r.bid = NewBid(client, cluster, someone(name)).Yielding().Stepped(func() time.Time { return r.now })
	return r
}

// second lets a second pass in which the process runs.
func (r *replica) second(t *testing.T) {
	t.Helper()
	r.now = r.now.Add(time.Second)
	if r.held == nil {
		held, err := r.bid.Try(t.Context())
		if other := (*HeldError)(nil); err != nil && !errors.As(err, &other) {
			t.Fatal(err)
		}
		r.held, r.due = held, r.now.Add(yielding.renewEvery)
		return
	}
	if !r.now.Before(r.due) {
		if pause := r.held.Tick(); pause > 0 {
			r.due = r.now.Add(pause)
			return
		}
		r.due = r.now.Add(time.Hour)
	}
}

// may reports whether Guard would allow its next write.
func (r *replica) may(t *testing.T) bool {
	if r.held == nil {
		return false
	}
	work, done := r.held.Guard(t.Context())
	defer done()
	return work.Err() == nil
}

// The clocks of two replicas may be hours apart, in either direction: each counts how long it has
// seen no renewal itself. A lease that is renewed is not taken over, an expired one is taken over
// after its duration, and both never may write at the same time.
func TestReplicasWithOtherClocks(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"ahead": 5 * time.Hour, "behind": -5 * time.Hour, "alike": 0} {
		t.Run(name, func(t *testing.T) {
			client := api()
			begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			a, b := newReplica(client, "ann", begun), newReplica(client, "bob", begun.Add(ahead))
			a.second(t)
			for range 300 {
				a.second(t)
				b.second(t)
				if !a.may(t) || b.held != nil {
					t.Fatalf("ann may write: %t, bob holds the lease: %t", a.may(t), b.held != nil)
				}
			}
			for waited := 0; b.held == nil; waited++ { // ann does not run
				a.now = a.now.Add(time.Second)
				b.second(t)
				if a.may(t) && b.may(t) {
					t.Fatalf("after %d s both may write", waited)
				}
				if wait := time.Duration(waited) * time.Second; wait > yielding.duration {
					t.Fatalf("bob still waits for %s", wait)
				}
			}
			a.second(t) // and goes on
			if cause := context.Cause(a.held.Context()); a.may(t) || !errors.Is(cause, ErrLost) || !b.may(t) {
				t.Errorf("ann: %v; bob may write: %t", cause, b.may(t))
			}
			if err := errors.Join(a.held.Release(), b.held.Release()); err != nil {
				t.Error(err)
			}
		})
	}
}

// The lease of a Stepped bid is renewed only by calls of Tick.
func TestSteppedIsNotRenewedByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := api()
		a := newReplica(client, "ann", time.Now())
		a.second(t)
		client.ClearActions()
		time.Sleep(2 * yielding.renewEvery)
		synctest.Wait()
		if n := len(client.Actions()); n > 0 {
			t.Errorf("%d requests", n)
		}
		if err := a.held.Release(); err != nil {
			t.Error(err)
		}
	})
}

// An idle lease is released when its renewal is due, by the clock of its holder.
func TestIdleWithTick(t *testing.T) {
	client := api()
	a := newReplica(client, "ann", time.Now().Add(-time.Hour))
	a.second(t)
	a.held.MarkIdle()
	for range 4 {
		a.second(t)
	}
	if get(t, client).Spec.HolderIdentity == nil {
		t.Error("it was released before its renewal was due")
	}
	a.second(t)
	if get(t, client).Spec.HolderIdentity != nil || a.may(t) || a.held.Tick() != 0 {
		t.Error("it was not released")
	}
}
