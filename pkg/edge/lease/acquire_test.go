package lease

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// The wait for a holder that may be dead ends with the context.
func TestAcquireIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		time.AfterFunc(3*retryEvery+1, func() { cancel(enough) })
		_, err := Acquire(ctx, api(record(someone("ann").String(), time.Now())), cluster, someone("bob"))
		if !errors.Is(err, enough) {
			t.Errorf("got %v", err)
		}
	})
}

// A record is valid for the duration that its holder has written.
func TestGoodFor(t *testing.T) {
	for name, tt := range map[string]struct {
		seconds *int32
		want    time.Duration
	}{"says so": {new(int32(40)), 40 * time.Second}, "says nothing": {nil, keeping.duration}} {
		l := record("op", time.Now())
		l.Spec.LeaseDurationSeconds = tt.seconds
		if got := goodFor(l); got != tt.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Only the fields that a holder writes show that it is alive, and a recreated record is another one
// even if these fields are equal.
func TestSame(t *testing.T) {
	at, later := time.Now(), metav1.NewMicroTime(time.Now().Add(time.Second))
	for name, tt := range map[string]struct {
		change func(*coordinationv1.Lease)
		want   bool
	}{
		"nothing":        {func(*coordinationv1.Lease) {}, true},
		"a label":        {func(l *coordinationv1.Lease) { l.Labels = map[string]string{"team": "dba"} }, true},
		"recreated":      {func(l *coordinationv1.Lease) { l.UID = "another" }, false},
		"another holder": {func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("bob") }, false},
		"taken again":    {func(l *coordinationv1.Lease) { l.Spec.AcquireTime = &later }, false},
		"renewed":        {func(l *coordinationv1.Lease) { l.Spec.RenewTime = &later }, false},
	} {
		l := record("ann", at)
		tt.change(l)
		if got := sameRecord(record("ann", at), l); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A process that comes second when the first record is created reads that record in its next
// attempt.
func TestSlowerThanAnother(t *testing.T) {
	client := api()
	client.PrependReactor("create", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
		_ = client.Tracker().Add(record(someone("ann").String(), time.Now()))
		return true, nil, apierrors.NewAlreadyExists(a.GetResource().GroupResource(), cluster.LeaseName())
	})
	bid := NewBid(client, cluster, someone("bob"))
	_, err := bid.Try(t.Context())
	if other, ok := errors.AsType[*HeldError](err); !ok || other.Alive || other.Name != cluster.Name || other.Namespace != cluster.Namespace {
		t.Errorf("got %v", err)
	}
	try(t, bid, "ann")
}

// The error of a read or a write that fails says what it was about.
func TestAttemptFails(t *testing.T) {
	for verb, holder := range map[string]string{"get": "bob", "create": "-", "update": ""} {
		client := api()
		if holder != "-" {
			client = api(record(holder, time.Now()))
		}
		client.PrependReactor(verb, "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("connection refused")
		})
		_, err := NewBid(client, cluster, someone("ann")).Try(t.Context())
		if err == nil || !strings.Contains(err.Error(), verb+" lease db/"+cluster.LeaseName()+": connection refused") {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

// A TidbCluster without a UID cannot own a lease.
func TestNoOwner(t *testing.T) {
	client, unwritten := api(), cluster
	unwritten.UID = ""
	held, err := NewBid(client, unwritten, someone("ann")).Try(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Release() }()
	if owners := get(t, client).OwnerReferences; len(owners) != 0 {
		t.Errorf("owners %v", owners)
	}
}

// A lease that a bid has released and another process has taken since is watched from then on: that
// change does not show that the other process is still alive.
func TestTakenSince(t *testing.T) {
	client := api(record(someone("ann").String(), time.Now()))
	bid := NewBid(client, cluster, someone("daemon")).Stepped(time.Now)
	try(t, bid, "ann")
	l := get(t, client)
	l.Spec.HolderIdentity = nil
	write(t, client, l)
	if err := try(t, bid, "").Release(); err != nil {
		t.Fatal(err)
	}
	bob := record(someone("bob").String(), time.Now())
	bob.ResourceVersion = get(t, client).ResourceVersion
	write(t, client, bob)
	for i, requests := range []int{2, 1} {
		client.ClearActions()
		_, err := bid.Try(t.Context())
		if other, ok := errors.AsType[*HeldError](err); !ok || other.Alive || other.Holder.Identity != someone("bob").String() {
			t.Errorf("attempt %d: %v", i, err)
		}
		if n := len(client.Actions()); n != requests {
			t.Errorf("attempt %d: %d requests", i, n)
		}
	}
	renewed := metav1.NewMicroTime(time.Now().Add(time.Second))
	l = get(t, client)
	l.Spec.RenewTime = &renewed
	write(t, client, l)
	_, err := bid.Try(t.Context())
	if other, ok := errors.AsType[*HeldError](err); !ok || !other.Alive {
		t.Errorf("bob has renewed: %v", err)
	}
}

// If the answer to the write that takes the lease again is lost, no other attempt is made at once.
func TestRetakeWithoutAnswer(t *testing.T) {
	client := api()
	l := connect(client)
	bid := NewBid(l, cluster, someone("ann")).Stepped(time.Now)
	if err := try(t, bid, "").Release(); err != nil {
		t.Fatal(err)
	}
	l.deaf = true
	if n := requests(client, func() {
		if held, err := bid.Try(t.Context()); !errors.Is(err, errUnheard) {
			t.Errorf("got %v, %v", held, err)
		}
	}); n != 1 {
		t.Errorf("%d requests", n)
	}
	l.cut = true
	if held, err := bid.Try(t.Context()); !errors.Is(err, errUnheard) {
		t.Errorf("got %v, %v", held, err)
	}
	l.cut, l.deaf = false, false
	try(t, bid, "")
}

// A record that was written without an answer is recognised by its content, also where the system
// does not say which processes are alive.
func TestUnansweredByRecord(t *testing.T) {
	self := someone("ann")
	self.Boot = ""
	l := connect(api())
	bid := NewBid(l, cluster, self).Stepped(time.Now)
	l.deaf = true
	if held, err := bid.Try(t.Context()); !errors.Is(err, errUnheard) {
		t.Fatalf("got %v, %v", held, err)
	}
	l.deaf = false
	if err := try(t, bid, "").Release(); err != nil {
		t.Error(err)
	}
}

// A record that has changed since it was seen has not expired, however long ago it was seen.
func TestSeenLongAgo(t *testing.T) {
	begun := time.Now()
	now := begun
	client := api(record(someone("ann").String(), begun.Add(-7*time.Second)))
	bid := NewBid(client, cluster, someone("bob")).Stepped(func() time.Time { return now })
	_, err := bid.Try(t.Context())
	if other, ok := errors.AsType[*HeldError](err); !ok || other.Alive || other.Age.Round(time.Second) != 7*time.Second {
		t.Errorf("got %v, %+v", err, other)
	}
	now = begun.Add(time.Hour)
	l, renewed := get(t, client), metav1.NewMicroTime(begun)
	l.Spec.RenewTime = &renewed
	write(t, client, l)
	_, err = bid.Try(t.Context())
	if other, ok := errors.AsType[*HeldError](err); !ok || !other.Alive {
		t.Errorf("got %v", err)
	}
}

// After a lease was lost, the next attempt reads the record first.
func TestAgainAfterLoss(t *testing.T) {
	client := api()
	bid := NewBid(client, cluster, someone("daemon")).Stepped(time.Now)
	held := try(t, bid, "")
	l := get(t, client)
	l.Spec.HolderIdentity = new(someone("bob").String())
	write(t, client, l)
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	try(t, bid, "bob")
}

// A request for a lease that is renewed at the same time is not lost.
func TestAskWhileRenewed(t *testing.T) {
	client := api(record(someone("daemon").String(), time.Now()))
	first := true
	client.PrependReactor("update", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if !first {
			return false, nil, nil
		}
		first = false
		return true, nil, apierrors.NewConflict(a.GetResource().GroupResource(), cluster.LeaseName(), nil)
	})
	if err := Ask(t.Context(), client, cluster, someone("ann")); err != nil || get(t, client).Annotations[askedBy] != someone("ann").String() {
		t.Errorf("%v, %v", get(t, client).Annotations, err)
	}
}

// A request for a lease that cannot be written is an error.
func TestAskFails(t *testing.T) {
	for _, verb := range []string{"get", "update"} {
		client := api(record(someone("daemon").String(), time.Now()))
		client.PrependReactor(verb, "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("connection refused")
		})
		if err := Ask(t.Context(), client, cluster, someone("ann")); err == nil || !strings.Contains(err.Error(), verb+" lease db/"+cluster.LeaseName()) {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

// ReadHolder fails if the lease cannot be read.
func TestLookFails(t *testing.T) {
	client := api(record("op", time.Now()))
	client.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("connection refused")
	})
	if h, err := ReadHolder(t.Context(), client, cluster); err == nil || h != (Holder{}) {
		t.Errorf("%+v, %v", h, err)
	}
}

// The texts of errors, and the holders that they name.
func TestErrors(t *testing.T) {
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for err, want := range map[error]string{
		&HeldError{Namespace: "db", Name: "basic", Holder: Holder{Identity: someone("ann").String(), Since: since}}: "cluster db/basic is driven by ann@ann-laptop (pid 42) since 2026-03-01T12:00:00Z",
		&AskedError{By: Holder{Identity: someone("bob").String()}}:                                                  "bob@bob-laptop (pid 42) has asked for the lease of the cluster",
		ErrLost: "lost the lease of the cluster",
	} {
		if got := err.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	o := Operator{Namespace: "ops", Holder: "op-1"}
	if got := o.String(); got != "tidb-operator op-1 in namespace ops" {
		t.Errorf("got %q", got)
	}
	if h := holderOf(&coordinationv1.Lease{}); h != (Holder{}) {
		t.Errorf("got %+v", h)
	}
}

// A target has the labels of its TidbCluster, since operators can select by them.
func TestTargetOf(t *testing.T) {
	c := cluster
	if got := TargetOf(c); got.Namespace != "db" || got.Labels != nil {
		t.Errorf("got %+v", got)
	}
	c.Source = &v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"team": "a"}}}
	if got := TargetOf(c); got.Namespace != "db" || got.Labels["team"] != "a" {
		t.Errorf("got %+v", got)
	}
}

func write(t *testing.T, client *fake.Clientset, l *coordinationv1.Lease) {
	t.Helper()
	if _, err := client.CoordinationV1().Leases("db").Update(t.Context(), l, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
