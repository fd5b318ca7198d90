package lease

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// try fails the test unless the bid gets the lease, or an error that names the expected holder.
func try(t *testing.T, b *Bid, holder string) *Held {
	t.Helper()
	held, err := b.Try(t.Context())
	other, taken := errors.AsType[*HeldError](err)
	switch {
	case holder == "" && err != nil:
		t.Fatal(err)
	case holder != "" && (!taken || other.Holder.Identity != someone(holder).String()):
		t.Fatalf("got %v, %v", held, err)
	}
	if held != nil {
		t.Cleanup(func() { _ = held.Release() })
	}
	return held
}

// TestBid: a bid never gets a lease that is renewed; a holder that dies is replaced after the
// duration of its lease, and a released lease is taken at once.
func TestBid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := api()
		first := acquire(t, client, "ann")
		bid := NewBid(client, cluster, someone("bob"))
		for range 20 {
			try(t, bid, "ann")
			time.Sleep(3 * time.Second)
		}
		first.stop() // as kill -9 does: it does not renew any more
		for since := time.Now(); ; time.Sleep(time.Second) {
			if time.Since(since) > 2*keeping.duration {
				t.Fatal("no process takes over")
			}
			if held, _ := bid.Try(t.Context()); held != nil {
				if took := time.Since(since); took < keeping.duration-keeping.renewEvery || took > keeping.duration+3*time.Second {
					t.Errorf("took over after %v", took)
				}
				_ = held.Release()
				break
			}
		}
		_ = try(t, NewBid(client, cluster, someone("cid")), "").Release()
		try(t, bid, "")
	})
}

// TestAsk: a daemon releases a lease that was asked for, and does not take it again at once; a
// command does not release it.
func TestAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := api()
		held := try(t, NewBid(client, cluster, someone("daemon")).Yielding(), "")
		if err := Ask(t.Context(), client, cluster, someone("ann")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(yielding.renewEvery + time.Second)
		synctest.Wait()
		var asked *AskedError
		if cause := context.Cause(held.Context()); !errors.As(cause, &asked) || asked.By.Identity != someone("ann").String() {
			t.Fatalf("got %v", cause)
		}
		try(t, NewBid(client, cluster, someone("ann")), "daemon") // not before it is released
		if err := held.Release(); err != nil {
			t.Fatal(err)
		}
		command := try(t, NewBid(client, cluster, someone("ann")), "")
		if a := get(t, client).Annotations; a[askedBy] != "" {
			t.Errorf("the request is still there: %v", a)
		}
		if err := Ask(t.Context(), client, cluster, someone("bob")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if err := command.Context().Err(); err != nil {
			t.Error(context.Cause(command.Context()))
		}
	})
}

// TestIdle: an idle lease is released instead of renewed, and one that is used in time is kept.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := api()
		held := try(t, NewBid(client, cluster, someone("daemon")).Yielding(), "")
		for range 3 {
			held.MarkIdle()
			time.Sleep(time.Second)
			if !held.MarkInUse() {
				t.Fatal("it was used in time, but was released")
			}
			time.Sleep(yielding.renewEvery)
		}
		held.MarkIdle()
		client.ClearActions()
		time.Sleep(2 * yielding.renewEvery)
		synctest.Wait()
		if held.MarkInUse() || held.Context().Err() == nil || errors.Is(context.Cause(held.Context()), ErrLost) {
			t.Errorf("%v", context.Cause(held.Context()))
		}
		if guarded, done := held.Guard(t.Context()); guarded.Err() == nil {
			t.Error("work may begin without the lease")
			done()
		}
		if l := get(t, client); l.Spec.HolderIdentity != nil {
			t.Errorf("held by %s", *l.Spec.HolderIdentity)
		}
		begun := len(client.Actions())
		if err := held.Release(); err != nil || len(client.Actions()) > begun {
			t.Errorf("released again: %v", err)
		}
		try(t, NewBid(client, cluster, someone("ann")), "")
	})
}

// TestRetake: a bid takes the lease that it has released without a read, but not if another process
// has held it since.
func TestRetake(t *testing.T) {
	for name, between := range map[string]func(*testing.T, *fake.Clientset){
		"untouched": func(*testing.T, *fake.Clientset) {},
		"another has had it": func(t *testing.T, client *fake.Clientset) {
			_ = acquire(t, client, "ann").Release()
		},
		"another has it": func(t *testing.T, client *fake.Clientset) { acquire(t, client, "ann") },
		"it was deleted": func(t *testing.T, client *fake.Clientset) {
			if err := client.CoordinationV1().Leases("db").Delete(t.Context(), cluster.LeaseName(), metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := api()
				bid := NewBid(client, cluster, someone("daemon"))
				for range 2 {
					if err := try(t, bid, "").Release(); err != nil {
						t.Fatal(err)
					}
				}
				between(t, client)
				client.ClearActions()
				if name == "another has it" {
					try(t, bid, "ann")
					return
				}
				held := try(t, bid, "")
				if got := len(client.Actions()); name == "untouched" && got != 1 {
					t.Errorf("it took %d requests", got)
				}
				if l := get(t, client); *l.Spec.HolderIdentity != someone("daemon").String() || held.Context().Err() != nil {
					t.Errorf("held by %s", *l.Spec.HolderIdentity)
				}
			})
		})
	}
}

// TestAskWithoutHolder: Ask does nothing if no process holds the lease.
func TestAskWithoutHolder(t *testing.T) {
	if err := Ask(t.Context(), api(), cluster, someone("ann")); err != nil {
		t.Error(err)
	}
}
