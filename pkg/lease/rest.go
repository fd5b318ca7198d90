package lease

import "errors"

// ErrRested is the cause with which the context of a Held ends that was given back
// because nobody used it.
var ErrRested = errors.New("the lease was given back, as it was not used")

// Rest has the lease given back when it would have to be renewed, unless Use comes
// before. To renew the leases of many clusters that want nothing, or that wait for
// their turn, would cost the API server more than all that is done for them.
func (h *Held) Rest() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.resting = true
}

// Use ends the rest, and tells whether the lease is there still. It is kept until
// the next Rest.
func (h *Held) Use() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.resting = false
	return h.tenure.Err() == nil
}

// retire gives the lease back if it rests. Nobody can begin to use it meanwhile.
func (h *Held) retire() bool {
	h.mu.Lock()
	resting := h.resting
	if resting {
		h.lost(ErrRested)
	}
	h.mu.Unlock()
	if resting {
		_ = h.giveBack() // what fails is left to Release
	}
	return resting
}
