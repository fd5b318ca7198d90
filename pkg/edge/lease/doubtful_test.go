package lease

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

var (
	leaseResource = coordinationv1.SchemeGroupVersion.WithResource("leases")
	notAllowed    = apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "", nil)
	db            = Target{Namespace: "db"}
)

// took returns how long f takes, by the clock of a synctest bubble.
func took(f func()) time.Duration {
	begun := time.Now()
	f()
	return time.Since(begun)
}

// TestAgeOfRecord: the age of a record shows whether its operator is alive, does not run any more,
// or may have another clock.
func TestAgeOfRecord(t *testing.T) {
	for name, tt := range map[string]struct {
		age   time.Duration
		alive bool
		wait  time.Duration
	}{
		"good still":        {15 * time.Second, true, 0},
		"good no more":      {15*time.Second + 1, false, operatorRenews},
		"from ahead":        {-15 * time.Second, true, 0},
		"from far ahead":    {-time.Minute, false, operatorRenews},
		"not yet forgotten": {abandonedAfter, false, operatorRenews},
		"forgotten":         {abandonedAfter + 1, false, 0},
		"forgotten, ahead":  {-abandonedAfter - 1, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := api(operatorRecord("ops", "tidb-controller-manager", "op-1", time.Now().Add(-tt.age)))
				o := NewOperators(client)
				if f, err := o.Fresh(t.Context(), db); err != nil || (len(f.Alive) > 0) != tt.alive || (len(f.doubtful) > 0) != (tt.wait > 0) {
					t.Errorf("at once: %+v, %v", f, err)
				}
				var found LiveOperators
				if wait := took(func() { found, _ = o.Find(t.Context(), db) }); wait != tt.wait {
					t.Errorf("took %s", wait)
				}
				if _, drives := found.Driving(db); drives != tt.alive || !found.Answers(db) {
					t.Errorf("got %+v", found)
				}
			})
		})
	}
}

// TestUnchangedRecord: a search does not wait twice for the renewal of the same record.
func TestUnchangedRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := api(operatorRecord("ops", "tidb-controller-manager", "op-1", time.Now().Add(-time.Minute)))
		o := NewOperators(client)
		find := func() { _, _ = o.Find(t.Context(), db) }
		if first, second := took(find), took(find); first != operatorRenews || second != 0 {
			t.Errorf("took %s, then %s", first, second)
		}
		next := operatorRecord("ops", "tidb-controller-manager", "op-1", time.Now().Add(-30*time.Second))
		_ = client.Tracker().Update(leaseResource, next, "ops")
		if third := took(find); third != operatorRenews {
			t.Errorf("another record: took %s", third)
		}
	})
}

// TestWhileWaiting: changes of records during the wait for a renewal.
func TestWhileWaiting(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*fake.Clientset)
		alive  bool
	}{
		"it is released": {change: func(client *fake.Clientset) {
			_ = client.Tracker().Update(leaseResource, operatorRecord("ops", "tidb-controller-manager", "", time.Now()), "ops")
		}},
		"it is deleted": {change: func(client *fake.Clientset) {
			_ = client.Tracker().Delete(leaseResource, "ops", "tidb-controller-manager")
		}},
		"another one appears": {change: func(client *fake.Clientset) {
			_ = client.Tracker().Add(operatorRecord("zz", "tidb-controller-manager", "op-2", time.Now()))
		}},
		"it is renewed": {alive: true, change: func(client *fake.Clientset) {
			_ = client.Tracker().Update(leaseResource, operatorRecord("ops", "tidb-controller-manager", "op-1", time.Now().Add(-50*time.Second)), "ops")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := api(operatorRecord("ops", "tidb-controller-manager", "op-1", time.Now().Add(-time.Minute)))
				time.AfterFunc(time.Second, func() { tt.change(client) })
				found := find(t, client, db)
				o, drives := found.Driving(db)
				if drives != tt.alive || drives && (o.Namespace != "ops" || o.Holder != "op-1" || o.Renewed.IsZero() || !o.Scope.Unread) {
					t.Errorf("got %+v", found)
				}
			})
		})
	}
}

// TestBesideReleased: records after one without a holder are read as well.
func TestBesideReleased(t *testing.T) {
	client := api(operatorRecord("a", "tidb-controller-manager", "", time.Now()), operatorRecord("b", "tidb-controller-manager", "op-b", time.Now()))
	if o, drives := find(t, client, db).Driving(db); !drives || o.Holder != "op-b" {
		t.Errorf("got %+v", o)
	}
}

// TestInterruptedWait: the wait for a renewal ends with the context.
func TestInterruptedWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		time.AfterFunc(time.Second, func() { cancel(enough) })
		client := api(operatorRecord("ops", "tidb-controller-manager", "op-1", time.Now().Add(-time.Minute)))
		if found, err := NewOperators(client).Find(ctx, db); !errors.Is(err, enough) {
			t.Errorf("%+v, %v", found, err)
		}
	})
}

// TestOwnNamespaceFirst: of two operators that cover a cluster, the one in its namespace
// is named.
func TestOwnNamespaceFirst(t *testing.T) {
	now := time.Now()
	client := api(operatorRecord("a", "tidb-controller-manager", "op-a", now),
		operatorRecord("aa", "tidb-controller-manager", "", now), operatorRecord("db", "tidb-controller-manager", "op-db", now),
		operatorRecord("z", "tidb-controller-manager", "op-z", now))
	if o, drives := find(t, client, db).Driving(db); !drives || o.Holder != "op-db" {
		t.Errorf("got %+v", o)
	}
}

// TestUsualNamespaces: each namespace that is searched is searched once, and an operator
// is found in either of the usual ones.
func TestUsualNamespaces(t *testing.T) {
	for _, ns := range usualNamespaces {
		client := api(operatorRecord(ns, "tidb-controller-manager", "op-1", time.Now()))
		failing(client, map[string]error{"": notAllowed})
		target := Target{Namespace: "tidb-admin"}
		var found LiveOperators
		lists := 0
		requests(client, func() { found = find(t, client, target) })
		for _, a := range client.Actions() {
			if a.Matches("list", "leases") {
				lists++
			}
		}
		if o, drives := found.Driving(target); !drives || o.Namespace != ns || lists != 3 {
			t.Errorf("%s: %+v, %d lists", ns, found, lists)
		}
		if got := found.Notices(target); len(got) != 2 { // that others are hidden, and that its scope is
			t.Errorf("%s: %q", ns, got)
		}
	}
}

// TestScopeNotices: there is a notice that a scope was not read, for clusters that the operator
// drives.
func TestScopeNotices(t *testing.T) {
	unread := Operator{Namespace: "ops", Holder: "op-1", Scope: Scope{Unread: true}}
	read := Operator{Namespace: "ops", Holder: "op-1"}
	elsewhere := Operator{Namespace: "ops", Scope: Scope{Unread: true, Namespaces: []string{"ops"}}}
	for want, alive := range map[int][]Operator{0: {read}, 1: {elsewhere, unread}} {
		if got := (LiveOperators{Alive: alive}).Notices(db); len(got) != want {
			t.Errorf("%+v: %q", alive, got)
		}
	}
	if got := (LiveOperators{Alive: []Operator{elsewhere}}).Notices(db); len(got) != 0 {
		t.Errorf("%q", got)
	}
	all := "leases of all namespaces may not be listed: a tidb-operator is not noticed in namespaces other than the cluster's and " +
		"those where it usually runs; to change this, allow to list leases in all namespaces"
	if got := (LiveOperators{Hidden: true}).Notices(db); len(got) != 1 || got[0] != (Notice{event.OperatorsNotListed, all}) {
		t.Errorf("%q", got)
	}
	hidden := LiveOperators{Hidden: true, namespace: "a", Alive: []Operator{read}}
	if !hidden.Answers(db) {
		t.Error("the operator drives this cluster, but was not found")
	}
}
