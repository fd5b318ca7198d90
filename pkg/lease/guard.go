package lease

import (
	"context"
	"fmt"
	"time"
)

// Guard returns a context for one piece of work that changes the cluster. It does
// not end with ctx, since what was begun is brought to its end, but with the
// lease, then with a cause that is ErrLost. It has ended already if the lease was
// not renewed for so long that others could hold it before a write arrives.
//
// That is not left to the renewal to find out. A process that was stopped, or a
// laptop that slept, goes on in the middle of whatever it did.
func (h *Held) Guard(context.Context) (context.Context, context.CancelFunc) {
	if unsaid := h.unsaid(); unsaid >= renewWithin {
		h.lost(fmt.Errorf("%w: it was not renewed for %s", ErrLost, unsaid.Round(time.Second)))
	}
	work, cancel := context.WithCancelCause(h.tenure)
	return work, func() { cancel(context.Canceled) }
}

// elapsed is the time between two moments by the clock that says more: the one
// that never jumps stands still while the machine sleeps.
func elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}
