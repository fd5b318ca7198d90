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
	candidate candidate
	ctx       context.Context
	end       context.CancelCauseFunc
	whileHeld context.Context // ends with the lease only, not with ctx
	expire    context.CancelCauseFunc
	renewal   context.Context // ends when the renewal is to stop
	stop      func()          // stops the renewal and waits for it

	live     *coordinationv1.Lease // as we last wrote it
	mu       sync.Mutex
	renewed  time.Time             // when we began the last write, by our own clock
	idle     bool                  // release the lease at the next renewal
	released *coordinationv1.Lease // the record as it was released; nil if it was not

	yields   bool // is released when another process asks for it
	noHolder bool // the record does not name us any more
}

func hold(ctx context.Context, cl candidate, live *coordinationv1.Lease, begun time.Time) *Held {
	h := &Held{candidate: cl, live: live, renewed: begun, yields: cl.yields}
	work := context.WithValue(ctx, heldKey{}, h) // the renewal itself asks nobody
	h.ctx, h.end = context.WithCancelCause(work)
	h.whileHeld, h.expire = context.WithCancelCause(context.WithoutCancel(work))
	renewal, cancel := context.WithCancel(context.WithoutCancel(ctx))
	h.renewal, h.stop = renewal, cancel
	if cl.manualTick {
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

// Context returns a context that ends with the context given to Acquire, and when the lease is lost. In the second
// case its cause is ErrLost.
func (h *Held) Context() context.Context { return h.ctx }

// endContexts ends all work that needs the lease.
func (h *Held) endContexts(cause error) {
	h.expire(cause)
	h.end(cause)
}

// sinceRenewal returns how long others have seen no renewal.
func (h *Held) sinceRenewal() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Elapsed(h.renewed, h.candidate.now())
}

// renew renews the lease until the renewal is to end or the lease is lost.
func (h *Held) renew() {
	for pause := h.FirstTick(); pause > 0; pause = h.Tick() {
		select {
		case <-h.renewal.Done():
			return
		case <-time.After(pause):
		}
	}
}

// FirstTick returns when the first Tick is due, from when the lease was taken.
func (h *Held) FirstTick() time.Duration { return h.candidate.terms().renewEvery }

// Tick renews the lease, or releases it if it is idle. It returns when the next
// Tick is due, 0 for never. With a Stepped bid the caller calls it; otherwise a
// goroutine does.
func (h *Held) Tick() time.Duration {
	if h.renewal.Err() != nil || h.releaseIfIdle() {
		return 0
	}
	err := h.renewOnce(h.renewal)
	switch {
	case h.renewal.Err() != nil:
		return 0
	case err == nil:
		return h.candidate.terms().renewEvery
	case isAsked(err):
		// It stays ours until it is released, so that the current step can end.
		h.yields = false
		h.end(err)
		return retryEvery
	case errors.Is(err, ErrLost):
	case h.sinceRenewal()+retryEvery >= h.candidate.terms().renewWithin:
		err = fmt.Errorf("%w: it could not be renewed: %w", ErrLost, err)
	default:
		return retryEvery
	}
	h.endContexts(err)
	return 0
}

func (h *Held) renewOnce(ctx context.Context) error {
	begun := h.candidate.now()
	ctx, cancel := context.WithTimeout(ctx, min(callTimeout, max(h.candidate.terms().renewWithin-h.sinceRenewal(), retryEvery)))
	defer cancel()
	got, err := h.write(ctx, func(s *coordinationv1.LeaseSpec) {
		now := metav1.NewMicroTime(h.candidate.now())
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

// write changes the record as long as it is ours. A conflict may come from an edited label, or from
// our own write whose answer was lost.
func (h *Held) write(ctx context.Context, change func(*coordinationv1.LeaseSpec)) (*coordinationv1.Lease, error) {
	next := h.live.DeepCopy()
	change(&next.Spec)
	got, err := h.candidate.leases.Update(ctx, next, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: it was deleted", ErrLost)
	}
	if !apierrors.IsConflict(err) {
		return got, h.candidate.wrap("update", err)
	}
	live, err := h.candidate.leases.Get(ctx, next.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: it was deleted", ErrLost)
	}
	if err != nil {
		return nil, h.candidate.wrap("get", err)
	}
	if other := holderOf(live); other.Identity != h.candidate.self.String() || live.UID != h.live.UID {
		return nil, fmt.Errorf("%w: %s has taken it over", ErrLost, other.Describe())
	}
	if by := live.Annotations[askedBy]; by != "" && h.yields {
		h.live = live
		return nil, &AskedError{By: Holder{Identity: by}}
	}
	change(&live.Spec)
	got, err = h.candidate.leases.Update(ctx, live, metav1.UpdateOptions{})
	return got, h.candidate.wrap("update", err)
}

// Release gives up the lease, so that the next driver can start at once. The record
// stays, without a holder: this needs no permission to delete, and the Lease is
// deleted with its TidbCluster. A lease that another process has taken over is not
// changed. A second call does nothing, unless the first one failed.
func (h *Held) Release() error {
	h.stop()
	defer h.endContexts(context.Canceled)
	return h.clearRecord()
}

func (h *Held) clearRecord() error {
	if h.noHolder {
		return nil
	}
	h.yields = false // it is released anyway
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.renewal), callTimeout)
	defer cancel()
	left, err := h.write(ctx, clearHolder)
	if err != nil && !errors.Is(err, ErrLost) {
		return fmt.Errorf("release the lease: %w", err)
	}
	h.noHolder = true
	if err == nil {
		left.ManagedFields = nil // it may be kept for long
		h.mu.Lock()
		defer h.mu.Unlock()
		h.released = left
	}
	return nil
}

// releasedRecord returns the record as it was released, nil if it was not.
func (h *Held) releasedRecord() *coordinationv1.Lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.released
}
