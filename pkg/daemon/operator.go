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

	mu     sync.Mutex
	known  *lease.Operators
	asked  time.Time
	holder string
}

// driving names the operator, "" when there is none.
func (o *operator) driving(ctx context.Context, namespace string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.asked.IsZero() || o.now().Sub(o.asked) > remembered {
		o.holder = ""
		if in, holder, alive := o.known.Alive(ctx, namespace); alive {
			o.holder = "tidb-operator " + holder + " in namespace " + in
		}
		if ctx.Err() == nil {
			o.asked = o.now()
		}
	}
	return o.holder
}
