package lease

import "errors"

// ErrIdle is the cause with which the context of a Held ends when the lease was idle and therefore released.
var ErrIdle = errors.New("the lease was released, as it was not used")

// MarkIdle releases the lease at its next renewal, unless MarkInUse is called before. It is for clusters that have
// converged, or that wait for their turn. To renew the leases of many of them would cost the API server more than
// all changes of them.
func (h *Held) MarkIdle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.idle = true
}

// MarkInUse keeps the lease until the next MarkIdle, and reports whether it is still held.
func (h *Held) MarkInUse() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.idle = false
	return h.whileHeld.Err() == nil
}

// releaseIfIdle releases the lease if it is idle, and reports whether it was. MarkInUse cannot come
// in between.
func (h *Held) releaseIfIdle() bool {
	h.mu.Lock()
	resting := h.idle
	if resting {
		h.endContexts(ErrIdle)
	}
	h.mu.Unlock()
	if resting {
		_ = h.clearRecord() // Release tries again what fails
	}
	return resting
}
