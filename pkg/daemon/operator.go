package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/lease"
)

// remembered is how long the answer holds whether a tidb-operator is alive. One
// that has just been installed needs longer to be elected.
const remembered = 15 * time.Second

// operator tells whether a tidb-operator drives clusters. It knows nothing of our
// leases, so that it has the precedence. One look serves all clusters.
type operator struct {
	now func() time.Time

	mu    sync.Mutex
	known *lease.Operators
	asked time.Time
	found lease.Finding
	told  bool // that not all namespaces can be searched
}

// driving names the operator that drives a cluster, "" when there is none.
func (o *operator) driving(ctx context.Context, t lease.Target) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.asked.IsZero() || o.now().Sub(o.asked) > remembered {
		o.found = o.known.Find(ctx, t)
		if ctx.Err() == nil {
			o.asked = o.now()
		}
	}
	if op, drives := o.found.Driving(t); drives {
		return op.String()
	}
	return ""
}

// hidden reports, once, that leases of all namespaces may not be listed.
func (o *operator) hidden() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := o.found.Hidden && !o.told
	o.told = o.told || o.found.Hidden
	return first
}
