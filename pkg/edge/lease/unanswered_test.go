package lease

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

var errUnheard = errors.New("the connection is gone")

// line is a connection to an API server that loses answers, or also requests.
type line struct {
	kubernetes.Interface
	typed.CoordinationV1Interface
	typed.LeaseInterface
	deaf, cut bool
	asked     func(context.Context) // is called before each update; may be nil
}

func connect(kube kubernetes.Interface) *line {
	return &line{Interface: kube, CoordinationV1Interface: kube.CoordinationV1(), LeaseInterface: kube.CoordinationV1().Leases("db")}
}

func (l *line) CoordinationV1() typed.CoordinationV1Interface { return l }
func (l *line) Leases(string) typed.LeaseInterface            { return l }

func (l *line) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	if l.cut {
		return nil, errUnheard
	}
	return l.LeaseInterface.Get(ctx, name, o)
}

func (l *line) Create(ctx context.Context, n *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error) {
	got, err := l.LeaseInterface.Create(ctx, n, o)
	if l.deaf {
		return nil, errUnheard
	}
	return got, err
}

func (l *line) Update(ctx context.Context, n *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if l.asked != nil {
		l.asked(ctx)
	}
	if l.cut {
		return nil, errUnheard
	}
	got, err := l.LeaseInterface.Update(ctx, n, o)
	if l.deaf {
		return nil, errUnheard
	}
	return got, err
}

// A process that has taken a lease without getting the answer holds it after its next attempt, or
// releases it with Withdraw. A lease that another process has taken since is not changed.
func TestUnanswered(t *testing.T) {
	for name, first := range map[string]bool{"made": true, "taken": false} {
		unheard := func(t *testing.T) (*line, *Bid) {
			l := connect(api())
			if !first {
				l = connect(api(record("", time.Now())))
			}
			bid := NewBid(l, cluster, someone("ann"))
			l.deaf = true
			if held, err := bid.Try(t.Context()); !errors.Is(err, errUnheard) {
				t.Fatalf("%v, %v", held, err)
			}
			l.deaf = false
			return l, bid
		}
		names := func(t *testing.T, l *line) string {
			h, err := ReadHolder(t.Context(), l, cluster)
			if err != nil {
				t.Fatal(err)
			}
			return h.Identity
		}
		t.Run(name+", and tried again", func(t *testing.T) {
			_, bid := unheard(t)
			held, err := bid.Try(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(bid.Withdraw(t.Context()), held.renewOnce(t.Context()), held.Release()); err != nil {
				t.Error(err)
			}
		})
		t.Run(name+", and released", func(t *testing.T) {
			l, bid := unheard(t)
			l.cut = true
			if err := bid.Withdraw(t.Context()); !errors.Is(err, errUnheard) {
				t.Errorf("got %v", err)
			}
			l.cut = false
			if err := bid.Withdraw(t.Context()); err != nil || names(t, l) != "" {
				t.Errorf("%v, held by %q", err, names(t, l))
			}
		})
		t.Run(name+", and tried again in vain, and released", func(t *testing.T) {
			l, bid := unheard(t)
			l.asked = func(context.Context) { l.cut = true }
			if _, err := bid.Try(t.Context()); !errors.Is(err, errUnheard) {
				t.Errorf("got %v", err)
			}
			l.asked, l.cut = nil, false
			if err := bid.Withdraw(t.Context()); err != nil || names(t, l) != "" {
				t.Errorf("%v, held by %q", err, names(t, l))
			}
		})
		t.Run(name+", and by another since", func(t *testing.T) {
			l, bid := unheard(t)
			other := record(someone("bob").String(), time.Now())
			live, _ := l.Get(t.Context(), other.Name, metav1.GetOptions{})
			live.Spec = other.Spec
			if _, err := l.Update(t.Context(), live, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := bid.Withdraw(t.Context()); err != nil || names(t, l) != someone("bob").String() {
				t.Errorf("%v, held by %q", err, names(t, l))
			}
			try(t, bid, "bob")
		})
	}
}

// A second call of Release releases a lease if the first one failed.
func TestReleaseAgain(t *testing.T) {
	l := connect(api())
	bid := NewBid(l, cluster, someone("ann")).Stepped(time.Now)
	held := try(t, bid, "")
	l.cut = true
	if err := held.Release(); !errors.Is(err, errUnheard) || held.Context().Err() == nil {
		t.Errorf("got %v", err)
	}
	l.cut = false
	if err := held.Release(); err != nil {
		t.Error(err)
	}
	if h, err := ReadHolder(t.Context(), l, cluster); err != nil || h.Identity != "" {
		t.Errorf("held by %q, %v", h.Identity, err)
	}
}

// TestNoteAnswer: a record whose answer was lost is kept as unanswered, and one that the API server
// has refused is not. Those from before stay until a write succeeds: one of them may be the record
// that is there.
func TestNoteAnswer(t *testing.T) {
	leases := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	before, wrote := &coordinationv1.Lease{}, &coordinationv1.Lease{}
	for name, c := range map[string]struct {
		err  error
		want []*coordinationv1.Lease
	}{
		"it was written":                  {nil, nil},
		"another process was faster":      {apierrors.NewConflict(leases, "basic", nil), []*coordinationv1.Lease{before}},
		"another process has created one": {apierrors.NewAlreadyExists(leases, "basic"), []*coordinationv1.Lease{before}},
		"it was deleted":                  {apierrors.NewNotFound(leases, "basic"), []*coordinationv1.Lease{before}},
		"the answer was lost":             {errUnheard, []*coordinationv1.Lease{before, wrote}},
	} {
		cl := candidate{unanswered: []*coordinationv1.Lease{before}}
		if cl.noteAnswer(wrote, c.err); !slices.Equal(cl.unanswered, c.want) {
			t.Errorf("%s: unanswered are %p, want %p", name, cl.unanswered, c.want)
		}
	}
}

// TestOurRecord: a record is the one that we wrote only if it names us and has both of our times.
// The record of another process with the same name, or of an earlier lease of ours, is not.
func TestOurRecord(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	lease := func(who string, since, renewed time.Time) *coordinationv1.Lease {
		l := record(who, renewed)
		l.Spec.AcquireTime = &metav1.MicroTime{Time: since}
		return l
	}
	wrote := lease("me", noon, noon.Add(time.Second))
	once, twice := []*coordinationv1.Lease{wrote}, []*coordinationv1.Lease{wrote, lease("me", noon.Add(time.Minute), noon.Add(time.Minute))}
	for name, c := range map[string]struct {
		asked []*coordinationv1.Lease
		live  *coordinationv1.Lease
		want  bool
	}{
		"what we wrote":           {once, lease("me", noon, noon.Add(time.Second)), true},
		"what we wrote before":    {twice, lease("me", noon, noon.Add(time.Second)), true},
		"what we wrote since":     {twice, lease("me", noon.Add(time.Minute), noon.Add(time.Minute)), true},
		"we have not written":     {nil, wrote, false},
		"another process":         {once, lease("you", noon, noon.Add(time.Second)), false},
		"another term":            {once, lease("me", noon.Add(-time.Hour), noon.Add(time.Second)), false},
		"renewed at another time": {once, lease("me", noon, noon), false},
		"all but the name":        {once, lease("you", noon, noon), false},
	} {
		cl := candidate{unanswered: c.asked}
		if got := cl.wroteUnanswered(c.live); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestNothingToWithdraw: without an unanswered write Withdraw sends no request, and it succeeds if
// the record never arrived.
func TestNothingToWithdraw(t *testing.T) {
	client := api()
	bid := NewBid(client, cluster, someone("alice"))
	if err := bid.Withdraw(t.Context()); err != nil || len(client.Actions()) > 0 {
		t.Errorf("%v, asked for %v", err, client.Actions())
	}
	bid.candidate.unanswered = []*coordinationv1.Lease{record(someone("alice").String(), time.Now())}
	if err := bid.Withdraw(t.Context()); err != nil || bid.candidate.unanswered != nil {
		t.Errorf("the record never arrived: %v", err)
	}
}
