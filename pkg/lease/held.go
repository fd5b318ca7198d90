package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Held is a cluster that this process drives.
type Held struct {
	claim   claim
	ctx     context.Context
	end     context.CancelCauseFunc
	tenure  context.Context // ends with the lease alone
	expire  context.CancelCauseFunc
	renewal context.Context // ends with the renewal
	stop    func()          // ends the renewal and waits for its end

	live    *coordinationv1.Lease // as we wrote it last
	mu      sync.Mutex
	renewed time.Time             // when we began to write it, by our own clock
	resting bool                  // it is given back rather than renewed
	left    *coordinationv1.Lease // as it was given back; nil: it was not

	yields bool // gives way to who asks for it
	given  bool // the record names us no more
}

func hold(ctx context.Context, cl claim, live *coordinationv1.Lease, begun time.Time) *Held {
	h := &Held{claim: cl, live: live, renewed: begun, yields: cl.yields}
	h.ctx, h.end = context.WithCancelCause(ctx)
	h.tenure, h.expire = context.WithCancelCause(context.WithoutCancel(ctx))
	renewal, cancel := context.WithCancel(context.WithoutCancel(ctx))
	h.renewal, h.stop = renewal, cancel
	if cl.byHand {
		return h
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.renew()
	}()
	h.stop = func() {
		cancel()
		<-done
	}
	return h
}

// Context ends with the one given to Acquire, and when the lease is lost, then
// with a cause that is ErrLost.
func (h *Held) Context() context.Context { return h.ctx }

// lost ends all that is done in the name of the lease.
func (h *Held) lost(cause error) {
	h.expire(cause)
	h.end(cause)
}

// unsaid is for how long others have heard nothing of us.
func (h *Held) unsaid() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return elapsed(h.renewed, h.claim.now())
}

// renew keeps the lease until the renewal is to end or the lease is lost.
func (h *Held) renew() {
	for pause := renewEvery; pause > 0; pause = h.Tick() {
		select {
		case <-h.renewal.Done():
			return
		case <-time.After(pause):
		}
	}
}

// Tick does what is due for the lease: it is renewed, or given back if it rests. It
// returns when the next one is due, 0 for never. The first one is due renewEvery
// after the lease was taken. It is for who has a Stepped bid; otherwise it is called
// when it is due.
func (h *Held) Tick() time.Duration {
	if h.renewal.Err() != nil || h.retire() {
		return 0
	}
	err := h.renewOnce(h.renewal)
	switch {
	case h.renewal.Err() != nil:
		return 0
	case err == nil:
		return renewEvery
	case isAsked(err):
		// It is ours until it is released, for the step that is being taken.
		h.yields = false
		h.end(err)
		return retryEvery
	case errors.Is(err, ErrLost):
	case h.unsaid()+retryEvery >= renewWithin:
		err = fmt.Errorf("%w: it could not be renewed: %w", ErrLost, err)
	default:
		return retryEvery
	}
	h.lost(err)
	return 0
}

func (h *Held) renewOnce(ctx context.Context) error {
	begun := h.claim.now()
	ctx, cancel := context.WithTimeout(ctx, min(callTimeout, max(renewWithin-h.unsaid(), retryEvery)))
	defer cancel()
	got, err := h.write(ctx, func(s *coordinationv1.LeaseSpec) {
		now := metav1.NewMicroTime(h.claim.now())
		s.RenewTime = &now
	})
	if err != nil {
		return err
	}
	h.live = got
	h.mu.Lock()
	h.renewed = begun
	h.mu.Unlock()
	return nil
}

// write changes the record as long as it is ours. A conflict may come from
// somebody who has edited a label, or from our own write whose answer got lost.
func (h *Held) write(ctx context.Context, change func(*coordinationv1.LeaseSpec)) (*coordinationv1.Lease, error) {
	next := h.live.DeepCopy()
	change(&next.Spec)
	got, err := h.claim.leases.Update(ctx, next, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: it was deleted", ErrLost)
	}
	if !apierrors.IsConflict(err) {
		return got, h.claim.wrap("update", err)
	}
	live, err := h.claim.leases.Get(ctx, next.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: it was deleted", ErrLost)
	}
	if err != nil {
		return nil, h.claim.wrap("get", err)
	}
	if other := holderOf(live); other.Identity != h.claim.self.String() || live.UID != h.live.UID {
		return nil, fmt.Errorf("%w: %s has taken it over", ErrLost, other.Describe())
	}
	if by := live.Annotations[askedBy]; by != "" && h.yields {
		h.live = live
		return nil, &AskedError{By: Holder{Identity: by}}
	}
	change(&live.Spec)
	got, err = h.claim.leases.Update(ctx, live, metav1.UpdateOptions{})
	return got, h.claim.wrap("update", err)
}

// Release lets go of the cluster, so that the next driver can start at once.
// The record stays, without a holder: that takes no permission to delete, and
// the Lease goes with its TidbCluster. What another has taken over is left
// alone. A second call does nothing, unless the first one failed.
func (h *Held) Release() error {
	h.stop()
	defer h.lost(context.Canceled)
	return h.giveBack()
}

func (h *Held) giveBack() error {
	if h.given {
		return nil
	}
	h.yields = false // it is given back in any case, whoever has asked for it
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), callTimeout)
	defer cancel()
	left, err := h.write(ctx, vacate)
	if err != nil && !errors.Is(err, ErrLost) {
		return fmt.Errorf("release the lease: %w", err)
	}
	h.given = true
	if err == nil {
		left.ManagedFields = nil // it may be kept for long
		h.mu.Lock()
		defer h.mu.Unlock()
		h.left = left
	}
	return nil
}

// leftBehind is the lease as it was given back, nil if it was not.
func (h *Held) leftBehind() *coordinationv1.Lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.left
}
