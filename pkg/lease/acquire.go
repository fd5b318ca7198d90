package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

const (
	// duration is how long others wait for a sign of life before they take over.
	duration = 15 * time.Second
	// renewEvery leaves room for a renewal that fails.
	renewEvery = 5 * time.Second
	// renewWithin is when a holder that cannot renew stops: before others may
	// start, with a margin for what it is just doing.
	renewWithin = 10 * time.Second
	// retryEvery paces what cannot wait for the next renewal.
	retryEvery = time.Second
	// callTimeout bounds one request, so that one that hangs leaves time for
	// another within renewWithin.
	callTimeout = 4 * time.Second
)

// claim is the attempt of one process to become the driver of one cluster.
type claim struct {
	leases  typed.LeaseInterface
	cluster topology.Cluster
	self    Identity
	yields  bool
	now     func() time.Time
	byHand  bool // who drives has a clock of its own, and renews by it

	seen  *coordinationv1.Lease // the record whose change would be a sign of life
	since time.Time             // when we first saw it, by our own clock
	asked *coordinationv1.Lease // what we have written, unless the answer said otherwise
}

// Bid is a standing attempt to become the driver of a cluster, for who has other
// things to do meanwhile. It is not safe for concurrent use.
type Bid struct {
	claim claim
	last  *Held // what it has got last; nil: nothing
}

// NewBid makes a bid. It requests nothing before Try.
func NewBid(kube kubernetes.Interface, c topology.Cluster, self Identity) *Bid {
	return &Bid{claim: claim{leases: kube.CoordinationV1().Leases(c.Namespace), cluster: c, self: self, now: time.Now}}
}

// Yielding is for who drives clusters all the time: what the bid gets is given
// way to who Asks for it.
func (b *Bid) Yielding() *Bid {
	b.claim.yields = true
	return b
}

// Stepped is for who lives on a clock of its own, such as a simulation: what the bid
// gets is judged by that clock, and renewed when Tick is called, not by itself.
func (b *Bid) Stepped(now func() time.Time) *Bid {
	b.claim.now, b.claim.byHand = now, true
	return b
}

// Try takes the lease if it may. When another process holds it, and is alive or
// may be, it fails with a *HeldError; whether that one lives is told by the next
// attempt that comes after its next renewal.
//
// The lease is renewed until Release, also after ctx ends: what a driver does
// on its way out is still its own.
func (b *Bid) Try(ctx context.Context) (*Held, error) {
	begun := b.claim.now()
	got, err := b.again(ctx)
	if got == nil && err == nil {
		got, err = b.claim.try(ctx)
	}
	switch {
	case err != nil:
		return nil, err
	case got == nil:
		return nil, b.claim.held()
	}
	b.last = hold(ctx, b.claim, got, begun)
	return b.last, nil
}

// again takes the lease as the bid has given it back, if nobody has touched it
// since, which the write itself finds out: a user's change need not wait for a
// read.
func (b *Bid) again(ctx context.Context) (*coordinationv1.Lease, error) {
	if b.last == nil {
		return nil, nil
	}
	left := b.last.leftBehind()
	b.last = nil
	if left == nil {
		return nil, nil
	}
	return b.claim.take(ctx, left)
}

// Acquire makes this process the driver of a cluster. When another one is alive
// it returns a *HeldError; proving that takes up to renewEvery, since only a
// renewal that happens before our eyes proves anything. A holder that shows no
// sign of life for the duration of its lease is replaced, one that is known to
// be dead at once.
//
// The lease is renewed until Release, also after ctx ends: what a driver does
// on its way out is still its own.
func Acquire(ctx context.Context, kube kubernetes.Interface, c topology.Cluster, self Identity) (*Held, error) {
	b := NewBid(kube, c, self)
	for {
		held, err := b.Try(ctx)
		if other, ok := errors.AsType[*HeldError](err); !ok || other.Alive {
			return held, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(retryEvery):
		}
	}
}

// try takes the lease if it may, and returns nil without an error when it has
// to be watched for longer.
func (cl *claim) try(ctx context.Context) (*coordinationv1.Lease, error) {
	live, err := cl.leases.Get(ctx, cl.cluster.LeaseName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return cl.create(ctx)
	}
	if err != nil {
		return nil, cl.wrap("get", err)
	}
	h := holderOf(live)
	if h.Identity == "" || cl.unheard(live) || cl.self.outlived(h.Identity) || cl.expired(live) {
		return cl.take(ctx, live)
	}
	renewed := cl.seen != nil && !same(cl.seen, live)
	if cl.seen == nil || renewed {
		cl.seen, cl.since = live, cl.now()
	}
	if renewed {
		e := cl.held()
		e.Alive = true
		return nil, e
	}
	return nil, nil
}

// held says that another process holds the lease, or was faster.
func (cl *claim) held() *HeldError {
	e := &HeldError{Namespace: cl.cluster.Namespace, Name: cl.cluster.Name}
	if cl.seen != nil {
		e.Holder = holderOf(cl.seen)
		e.Age = cl.now().Sub(e.Holder.Renewed)
	}
	return e
}

// expired tells whether the record has stood still, before our own eyes, for as
// long as its holder said it would be good for.
func (cl *claim) expired(live *coordinationv1.Lease) bool {
	if cl.seen == nil || !same(cl.seen, live) {
		return false
	}
	return cl.now().Sub(cl.since) >= goodFor(live)
}

// goodFor is how long a record holds without a renewal.
func goodFor(l *coordinationv1.Lease) time.Duration {
	if s := l.Spec.LeaseDurationSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return duration
}

// same compares what a holder writes. Labels or owners that somebody else has
// changed are not a sign of life.
func same(a, b *coordinationv1.Lease) bool {
	x, y := holderOf(a), holderOf(b)
	return a.UID == b.UID && x.Identity == y.Identity && x.Since.Equal(y.Since) && x.Renewed.Equal(y.Renewed)
}

func (cl *claim) create(ctx context.Context) (*coordinationv1.Lease, error) {
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Name: cl.cluster.LeaseName(), Labels: cl.cluster.Selector(),
	}}
	cl.sign(l)
	got, err := cl.leases.Create(ctx, l, metav1.CreateOptions{})
	cl.hear(l, err)
	if apierrors.IsAlreadyExists(err) {
		return nil, nil // another was faster: see what it is
	}
	if err != nil {
		return nil, cl.wrap("create", err)
	}
	return got, nil
}

func (cl *claim) take(ctx context.Context, live *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	l := live.DeepCopy()
	cl.sign(l)
	got, err := cl.leases.Update(ctx, l, metav1.UpdateOptions{})
	cl.hear(l, err)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		cl.seen = nil
		return nil, nil // the record has changed: look again
	}
	if err != nil {
		return nil, cl.wrap("update", err)
	}
	return got, nil
}

// sign makes the record ours. It also belongs to the TidbCluster of today: one
// left from a former TidbCluster of that name is about to be collected.
func (cl *claim) sign(l *coordinationv1.Lease) {
	if cl.cluster.UID != "" {
		l.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "pingcap.com/v1alpha1", Kind: "TidbCluster", Name: cl.cluster.Name, UID: cl.cluster.UID,
		}}
	}
	delete(l.Annotations, askedBy)
	now := metav1.NewMicroTime(cl.now().Truncate(time.Microsecond)) // as it is kept
	holder, seconds, transitions := cl.self.String(), int32(duration/time.Second), int32(0)
	if l.Spec.LeaseTransitions != nil {
		transitions = *l.Spec.LeaseTransitions + 1
	}
	l.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: &holder, LeaseDurationSeconds: &seconds, LeaseTransitions: &transitions,
		AcquireTime: &now, RenewTime: &now,
	}
}

func (cl *claim) wrap(verb string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s lease %s/%s: %w", verb, cl.cluster.Namespace, cl.cluster.LeaseName(), err)
}
