package lease

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func acquire(t *testing.T, client *fake.Clientset, who string) *Held {
	t.Helper()
	h, err := Acquire(t.Context(), client, cluster, someone(who))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Release() })
	return h
}

func TestAcquireRenewRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := api()
		h := acquire(t, client, "ann")
		first := get(t, client)
		if got := *first.Spec.HolderIdentity; got != someone("ann").String() {
			t.Errorf("holder %q", got)
		}
		if first.Labels[topology.LabelInstance] != "basic" || first.Annotations != nil {
			t.Errorf("labels %v, annotations %v", first.Labels, first.Annotations)
		}
		if s := first.Spec; *s.LeaseDurationSeconds != 30 || *s.LeaseTransitions != 0 || !s.AcquireTime.Equal(s.RenewTime) || s.RenewTime.Time.IsZero() {
			t.Errorf("got %+v", s)
		}
		owner := metav1.OwnerReference{APIVersion: "pingcap.com/v1alpha1", Kind: "TidbCluster", Name: "basic", UID: "tc-uid"}
		if len(first.OwnerReferences) != 1 || first.OwnerReferences[0] != owner {
			t.Errorf("the lease would outlive its TidbCluster: %v", first.OwnerReferences)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if age := time.Since(get(t, client).Spec.RenewTime.Time); age > keeping.renewEvery {
			t.Errorf("last renewed %v ago", age)
		}
		if err := h.Context().Err(); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := h.Release(); err != nil {
				t.Fatal(err)
			}
		}
		if l := get(t, client); l.Spec.HolderIdentity != nil {
			t.Errorf("still held by %s", *l.Spec.HolderIdentity)
		}
		begun := time.Now()
		acquire(t, client, "bob")
		if took := time.Since(begun); took > 0 {
			t.Errorf("the next driver had to wait %v", took)
		}
		if n := *get(t, client).Spec.LeaseTransitions; n != 1 {
			t.Errorf("%d transitions", n)
		}
	})
}

func TestHeldByALiveOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := api()
		acquire(t, client, "ann")
		time.Sleep(7 * time.Second)
		begun := time.Now()
		_, err := Acquire(t.Context(), client, cluster, someone("bob"))
		var held *HeldError
		if !errors.As(err, &held) {
			t.Fatalf("got %v", err)
		}
		if took := time.Since(begun); took > keeping.renewEvery+retryEvery {
			t.Errorf("got the error after %v", took)
		}
		if !strings.Contains(err.Error(), "ann@ann-laptop (pid 42)") || held.Age > retryEvery {
			t.Errorf("%v, renewed %v ago", err, held.Age)
		}
	})
}

// Clocks of two machines may differ by any amount; only changes of the record count.
func TestClocksAreNotCompared(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"behind": -time.Hour, "ahead": time.Hour} {
		t.Run("dead, clock "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := api(record(someone("ann").String(), time.Now().Add(ahead)))
				begun := time.Now()
				acquire(t, client, "bob")
				if took := time.Since(begun); took != yielding.duration {
					t.Errorf("took over after %v", took)
				}
			})
		})
		t.Run("alive, clock "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := api(record(someone("ann").String(), time.Now().Add(ahead)))
				go func() {
					time.Sleep(3 * time.Second)
					l := get(t, client)
					at := metav1.NewMicroTime(time.Now().Add(ahead))
					l.Spec.RenewTime = &at
					_, _ = client.CoordinationV1().Leases("db").Update(t.Context(), l, metav1.UpdateOptions{})
				}()
				_, err := Acquire(t.Context(), client, cluster, someone("bob"))
				var held *HeldError
				if !errors.As(err, &held) {
					t.Fatalf("got %v", err)
				}
			})
		})
	}
}

func TestOneOfManyWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := api()
		var won, lost int
		var mu sync.Mutex
		var all sync.WaitGroup
		for _, name := range []string{"ann", "bob", "cid", "dan"} {
			all.Go(func() {
				h, err := Acquire(t.Context(), client, cluster, someone(name))
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won++
					t.Cleanup(func() { _ = h.Release() })
				} else {
					lost++
				}
			})
		}
		all.Wait()
		if won != 1 || lost != 3 {
			t.Errorf("%d won, %d lost", won, lost)
		}
	})
}

func TestTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := api()
		h := acquire(t, client, "ann")
		l := get(t, client)
		other := someone("bob").String()
		l.Spec.HolderIdentity = &other
		if _, err := client.CoordinationV1().Leases("db").Update(t.Context(), l, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		<-h.Context().Done()
		if took := time.Since(begun); took > keeping.renewEvery {
			t.Errorf("went on for %v", took)
		}
		if err := context.Cause(h.Context()); !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "bob@bob-laptop") {
			t.Errorf("cause %v", err)
		}
		var hands interface{ HandsOff() bool }
		if !errors.As(context.Cause(h.Context()), &hands) || !hands.HandsOff() {
			t.Error("the error allows to clean up, which is left to the new holder")
		}
		if err := h.Release(); err != nil {
			t.Error(err)
		}
		if got := *get(t, client).Spec.HolderIdentity; got != other {
			t.Errorf("released the lease of %s: %q", other, got)
		}
	})
}

func TestDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := api()
		h := acquire(t, client, "ann")
		if err := client.CoordinationV1().Leases("db").Delete(t.Context(), cluster.LeaseName(), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		<-h.Context().Done()
		if err := context.Cause(h.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("cause %v", err)
		}
	})
}

// A holder that cannot renew stops before another one may start.
func TestUnreachable(t *testing.T) {
	for _, tt := range []struct {
		name string
		down time.Duration
		lost bool
	}{{"for a moment", 8 * time.Second, false}, {"for long", time.Minute, true}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, begun := api(), time.Now()
				client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
					if time.Since(begun) < keeping.renewEvery+tt.down {
						return true, nil, errors.New("connection refused")
					}
					return false, nil, nil
				})
				h := acquire(t, client, "ann")
				select {
				case <-h.Context().Done():
				case <-time.After(2 * time.Minute):
				}
				switch took := time.Since(begun); {
				case tt.lost != (h.Context().Err() != nil):
					t.Errorf("lost: %v", context.Cause(h.Context()))
				case tt.lost && took != keeping.renewWithin-retryEvery:
					t.Errorf("gave up after %v", took)
				case tt.lost && !errors.Is(context.Cause(h.Context()), ErrLost):
					t.Errorf("cause %v", context.Cause(h.Context()))
				case tt.lost && !strings.Contains(context.Cause(h.Context()).Error(), "connection refused"):
					t.Errorf("cause %v", context.Cause(h.Context()))
				}
				time.Sleep(2 * time.Minute)
				if err := h.Release(); err != nil {
					t.Error(err)
				}
				if l := get(t, client); l.Spec.HolderIdentity != nil {
					t.Error("the lease was not released, though no other process has taken it")
				}
			})
		})
	}
}

// The lease is renewed also after an interrupt, while the driver cleans up.
func TestRenewsAfterInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := api()
		ctx, interrupt := context.WithCancel(t.Context())
		h, err := Acquire(ctx, client, cluster, someone("ann"))
		if err != nil {
			t.Fatal(err)
		}
		interrupt()
		time.Sleep(20 * time.Second)
		if age := time.Since(get(t, client).Spec.RenewTime.Time); age > keeping.renewEvery {
			t.Errorf("last renewed %v ago", age)
		}
		if errors.Is(context.Cause(h.Context()), ErrLost) {
			t.Error("an interrupt is not a loss")
		}
		if err := h.Release(); err != nil {
			t.Fatal(err)
		}
		if l := get(t, client); l.Spec.HolderIdentity != nil {
			t.Error("not released")
		}
	})
}

// The context of Guard ends with the lease and with nothing else. An interrupt does not end it, and
// does not hide that the lease is lost.
func TestGuard(t *testing.T) {
	takeOver := func(t *testing.T, client *fake.Clientset) {
		l := get(t, client)
		other := someone("bob").String()
		l.Spec.HolderIdentity = &other
		if _, err := client.CoordinationV1().Leases("db").Update(t.Context(), l, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for name, interrupted := range map[string]bool{"while driving": false, "on the way out": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := api()
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				h, err := Acquire(ctx, client, cluster, someone("ann"))
				if err != nil {
					t.Fatal(err)
				}
				if interrupted {
					interrupt()
				}
				work, release := h.Guard(ctx)
				defer release()
				time.Sleep(time.Minute)
				synctest.Wait() // a renewal may be due just now
				if work.Err() != nil {
					t.Fatalf("ended with %v", context.Cause(work))
				}
				takeOver(t, client)
				<-work.Done()
				if err := context.Cause(work); !errors.Is(err, ErrLost) {
					t.Errorf("cause %v", err)
				}
				late, release := h.Guard(ctx)
				defer release()
				if err := context.Cause(late); !errors.Is(err, ErrLost) {
					t.Errorf("afterwards %v", err)
				}
				_ = h.Release()
			})
		})
	}
}

// A process that was stopped sees the loss of the lease before its next write, also if its renewal
// has not run yet.
func TestGuardAfterSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for asleep, lost := range map[time.Duration]bool{keeping.renewWithin - time.Second: false, keeping.renewWithin: true} {
			h := acquire(t, api(), "ann")
			h.mu.Lock()
			h.renewed = h.renewed.Add(-asleep)
			h.mu.Unlock()
			work, release := h.Guard(t.Context())
			if got := errors.Is(context.Cause(work), ErrLost); got != lost {
				t.Errorf("after %s: %v", asleep, context.Cause(work))
			}
			if got := errors.Is(context.Cause(h.Context()), ErrLost); got != lost {
				t.Errorf("after %s the run goes on: %t", asleep, !got)
			}
			release()
			_ = h.Release()
		}
	})
}

func TestRenewsOverForeignEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := api()
		h := acquire(t, client, "ann")
		l := get(t, client)
		l.Labels = map[string]string{"team": "dba"}
		if _, err := client.CoordinationV1().Leases("db").Update(t.Context(), l, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := h.Context().Err(); err != nil {
			t.Error(context.Cause(h.Context()))
		}
		if l := get(t, client); l.Labels["team"] != "dba" || time.Since(l.Spec.RenewTime.Time) > keeping.renewEvery {
			t.Errorf("labels %v, renewed %v", l.Labels, l.Spec.RenewTime)
		}
	})
}

func TestForbidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := api()
		client.PrependReactor("create", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, "", nil)
		})
		begun := time.Now()
		_, err := Acquire(t.Context(), client, cluster, someone("ann"))
		if !apierrors.IsForbidden(err) || time.Since(begun) > 0 {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	})
}

func TestLook(t *testing.T) {
	client := api()
	if h, err := ReadHolder(t.Context(), client, cluster); err != nil || h.Identity != "" {
		t.Errorf("%+v, %v", h, err)
	}
	client = api(record("tidb-operator-7f", time.Now()))
	if h, err := ReadHolder(t.Context(), client, cluster); err != nil || h.Describe() != "tidb-operator-7f" {
		t.Errorf("%+v, %v", h, err)
	}
}
