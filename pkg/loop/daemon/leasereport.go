package daemon

import (
	"sync"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
)

// leaseReport reports for one cluster whether this process drives it. The goroutine that renews a
// lease can see its end late: by then the next lease may have been taken, or the cluster deleted.
// So an end is reported only for the last lease that was reported as taken; otherwise the report
// would be wrong for ever.
type leaseReport struct {
	report func(held bool)

	mu   sync.Mutex
	last *lease.Held // nil when no lease is held
}

func (t *leaseReport) begin(held *lease.Held) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = held
	t.report(true)
}

// end reports whether the end of this lease was not known before.
func (t *leaseReport) end(held *lease.Held) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if held == nil || t.last != held {
		return false
	}
	t.last = nil
	t.report(false)
	return true
}
