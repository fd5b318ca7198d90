package lease

import (
	"context"
	"fmt"
	"time"
)

// Guard returns a context for one piece of work that changes the cluster. It does not end with ctx, since a step
// that has begun is completed, but with the lease, then with a cause that is ErrLost. It has already ended if the
// lease was not renewed for so long that another process could hold it before a write arrives.
//
// Guard checks this itself, because the renewal may be late. A process that was stopped, or a laptop that slept,
// continues in the middle of its work before the renewal runs. The context carries the lease, so that Asking can ask
// once more before each request.
func (h *Held) Guard(context.Context) (context.Context, context.CancelFunc) {
	h.endIfUnrenewed()
	work, cancel := context.WithCancelCause(h.whileHeld)
	return work, func() { cancel(context.Canceled) }
}

// endIfUnrenewed ends all work if others could hold the lease before a write arrives.
func (h *Held) endIfUnrenewed() {
	if unsaid := h.sinceRenewal(); unsaid >= h.candidate.terms().renewWithin {
		h.endContexts(fmt.Errorf("%w: it was not renewed for %s", ErrLost, unsaid.Round(time.Second)))
	}
}

// Elapsed returns the time between two moments by the monotonic clock or the wall clock, whichever says more. The
// monotonic clock stops while the machine sleeps.
func Elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}
