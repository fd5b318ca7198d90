package lease

import (
	"context"
	"fmt"
	"time"
)

// Guard returns a context for one piece of work that changes the cluster. It does
// not end with ctx, since a step that has begun is completed, but with the lease,
// then with a cause that is ErrLost. It has already ended if the lease was not
// renewed for so long that others could hold it before a write arrives.
//
// Guard checks this itself, because the renewal may be late: a process that was
// stopped, or a laptop that slept, continues in the middle of its work before the
// renewal runs.
func (h *Held) Guard(context.Context) (context.Context, context.CancelFunc) {
	if unsaid := h.sinceRenewal(); unsaid >= h.claim.terms().renewWithin {
		h.endContexts(fmt.Errorf("%w: it was not renewed for %s", ErrLost, unsaid.Round(time.Second)))
	}
	work, cancel := context.WithCancelCause(h.whileHeld)
	return work, func() { cancel(context.Canceled) }
}

// elapsed returns the time between two moments by the monotonic clock or the wall
// clock, whichever says more: the monotonic clock stops while the machine sleeps.
func elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}
