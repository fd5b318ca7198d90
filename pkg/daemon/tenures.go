package daemon

import (
	"sync"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/lease"
)

// tenures tells of one cluster whether this process drives it. The end of a lease
// is found out about by whoever renews it, at any time: it may be that the next one
// has been taken by then, or that the cluster is gone. So the end of a tenure is
// told only while it is the last one that was told of.
type tenures struct {
	tell func(held bool)

	mu   sync.Mutex
	last *lease.Held // nil: none goes on
}

func (t *tenures) begin(held *lease.Held) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = held
	t.tell(true)
}

// end tells whether it was news that this tenure is over.
func (t *tenures) end(held *lease.Held) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if held == nil || t.last != held {
		return false
	}
	t.last = nil
	t.tell(false)
	return true
}
