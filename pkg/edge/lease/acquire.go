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

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// terms are the times of a lease. They are in the record, so that two processes need not have the same.
type terms struct {
	// duration is how long others wait for a renewal before they take over.
	duration time.Duration
	// renewEvery leaves room for a renewal that fails.
	renewEvery time.Duration
	// renewWithin is when a holder that cannot renew stops: before others may
	// start, with a margin for its current write, which is longer than callTimeout.
	renewWithin time.Duration
}

var (
	// yielding are those of a holder that others may Ask for the lease. The holder notices that at its next renewal.
	yielding = terms{duration: 15 * time.Second, renewEvery: 5 * time.Second, renewWithin: 10 * time.Second}
	// keeping are the terms of a command, which holds the lease for as long as it waits. That can be hours, in which
	// renewals would be most of its requests.
	keeping = terms{duration: 30 * time.Second, renewEvery: 15 * time.Second, renewWithin: 24 * time.Second}
)

const (
	// retryEvery is the pause before another attempt that cannot wait for the next
	// renewal.
	retryEvery = time.Second
	// callTimeout bounds one request, so that one that hangs leaves time for
	// another within renewWithin.
	callTimeout = 4 * time.Second
)

// candidate is the attempt of one process to become the driver of one cluster.
type candidate struct {
	leases     typed.LeaseInterface
	cluster    topology.Cluster
	self       Identity
	yields     bool
	now        func() time.Time
	manualTick bool // the caller has a clock of its own, and calls Tick by it

	seen       *coordinationv1.Lease   // the record: if it changes, its holder is alive
	since      time.Time               // when we first saw it, by our own clock
	unanswered []*coordinationv1.Lease // what we tried to write, when no answer came
}

// Bid is an attempt to become the driver of a cluster. It can be repeated, for a caller that does other things
// between. It is not safe for concurrent use.
type Bid struct {
	candidate candidate
	last      *Held // the last lease that it took; nil for none
}

// terms returns the times of the leases that this candidate tries to get.
func (cl *candidate) terms() terms {
	if cl.yields {
		return yielding
	}
	return keeping
}

// NewBid returns a bid. It makes no request before Try.
func NewBid(kube kubernetes.Interface, c topology.Cluster, self Identity) *Bid {
	return &Bid{candidate: candidate{leases: kube.CoordinationV1().Leases(c.Namespace), cluster: c, self: self, now: time.Now}}
}

// Yielding has leases of this bid released when another process calls Ask for them.
// A daemon uses it, since it drives clusters all the time.
func (b *Bid) Yielding() *Bid {
	b.candidate.yields = true
	return b
}

// Stepped has leases of this bid use another clock, for example the clock of a
// simulation. They are renewed when Tick is called, and not by themselves.
func (b *Bid) Stepped(now func() time.Time) *Bid {
	b.candidate.now, b.candidate.manualTick = now, true
	return b
}

// Try takes the lease if it may. It fails with a *HeldError when another process holds the lease and is alive or may
// be alive. An attempt after the next renewal shows that the holder is alive.
//
// The lease is renewed until Release, also after ctx ends: a driver still
// needs it while it cleans up.
func (b *Bid) Try(ctx context.Context) (*Held, error) {
	begun := b.candidate.now()
	got, err := b.retake(ctx)
	if got == nil && err == nil {
		got, err = b.candidate.try(ctx)
	}
	switch {
	case err != nil:
		return nil, err
	case got == nil:
		return nil, b.candidate.held()
	}
	b.last = hold(ctx, b.candidate, got, begun)
	return b.last, nil
}

// retake takes the lease as this bid released it, without a read before. The write fails if the Lease has changed
// since. So a user's change does not wait for a read.
func (b *Bid) retake(ctx context.Context) (*coordinationv1.Lease, error) {
	if b.last == nil {
		return nil, nil
	}
	left := b.last.releasedRecord()
	b.last = nil
	if left == nil {
		return nil, nil
	}
	return b.candidate.take(ctx, left)
}

// Acquire makes this process the driver of a cluster. When another process is alive it returns a *HeldError. To know
// that takes until the other process's next renewal, since only a renewal that we observe proves that a process is
// alive. A holder that does not renew for the duration of its lease is replaced. One that is known to be dead is
// replaced at once.
//
// The lease is renewed until Release, also after ctx ends: a driver still
// needs it while it cleans up.
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

// try takes the lease if it may. It returns nil without an error when the record
// has to be watched for longer.
func (cl *candidate) try(ctx context.Context) (*coordinationv1.Lease, error) {
	live, err := cl.leases.Get(ctx, cl.cluster.LeaseName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return cl.create(ctx)
	}
	if err != nil {
		return nil, cl.wrap("get", err)
	}
	h := holderOf(live)
	if h.Identity == "" || cl.wroteUnanswered(live) || cl.self.knowsDead(h.Identity) || cl.expired(live) {
		return cl.take(ctx, live)
	}
	renewed := cl.seen != nil && !sameRecord(cl.seen, live)
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

// held returns the error for a lease that another process holds or has just taken.
func (cl *candidate) held() *HeldError {
	e := &HeldError{Namespace: cl.cluster.Namespace, Name: cl.cluster.Name}
	if cl.seen != nil {
		e.Holder = holderOf(cl.seen)
		e.Age = cl.now().Sub(e.Holder.Renewed)
	}
	return e
}

// expired reports whether we have seen no change of the record for its whole
// duration.
func (cl *candidate) expired(live *coordinationv1.Lease) bool {
	if cl.seen == nil || !sameRecord(cl.seen, live) {
		return false
	}
	return cl.now().Sub(cl.since) >= goodFor(live)
}

// goodFor returns how long a record is valid without a renewal.
func goodFor(l *coordinationv1.Lease) time.Duration {
	if s := l.Spec.LeaseDurationSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return keeping.duration
}

// sameRecord reports whether the holder has not written the record between a and b. Labels or
// owners that others have changed do not show that the holder is alive.
func sameRecord(a, b *coordinationv1.Lease) bool {
	return a.UID == b.UID && holderOf(a).Equal(holderOf(b))
}

func (cl *candidate) create(ctx context.Context) (*coordinationv1.Lease, error) {
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Name: cl.cluster.LeaseName(), Labels: cl.cluster.Selector(),
	}}
	cl.sign(l)
	got, err := cl.leases.Create(ctx, l, metav1.CreateOptions{})
	cl.noteAnswer(l, err)
	if apierrors.IsAlreadyExists(err) {
		return nil, nil // another process has created it: read it in the next attempt
	}
	if err != nil {
		return nil, cl.wrap("create", err)
	}
	return got, nil
}

func (cl *candidate) take(ctx context.Context, live *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	l := live.DeepCopy()
	cl.sign(l)
	got, err := cl.leases.Update(ctx, l, metav1.UpdateOptions{})
	cl.noteAnswer(l, err)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		cl.seen = nil
		return nil, nil // the record has changed: read it in the next attempt
	}
	if err != nil {
		return nil, cl.wrap("update", err)
	}
	return got, nil
}

// sign writes this process as the holder, and the current TidbCluster as the owner. A Lease that belongs to a former
// TidbCluster of that name would be garbage collected.
func (cl *candidate) sign(l *coordinationv1.Lease) {
	if cl.cluster.UID != "" {
		l.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "pingcap.com/v1alpha1", Kind: "TidbCluster", Name: cl.cluster.Name, UID: cl.cluster.UID,
		}}
	}
	delete(l.Annotations, askedBy)
	now := metav1.NewMicroTime(cl.now().Truncate(time.Microsecond)) // the precision of a Lease
	holder, seconds, transitions := cl.self.String(), int32(cl.terms().duration/time.Second), int32(0)
	if l.Spec.LeaseTransitions != nil {
		transitions = *l.Spec.LeaseTransitions + 1
	}
	l.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: &holder, LeaseDurationSeconds: &seconds, LeaseTransitions: &transitions,
		AcquireTime: &now, RenewTime: &now,
	}
}

func (cl *candidate) wrap(verb string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s lease %s/%s: %w", verb, cl.cluster.Namespace, cl.cluster.LeaseName(), err)
}
