package daemon

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/lease"
)

// remembered is how long the answer holds whether a tidb-operator is alive. One
// that has just been installed needs longer to be elected.
const remembered = 15 * time.Second

// operator tells whether a tidb-operator drives clusters. It knows nothing of our
// leases, so that it has the precedence. One look serves all clusters that it is the
// answer for.
type operator struct {
	now func() time.Time

	mu    sync.Mutex
	known *lease.Operators
	found []found         // not older than is remembered
	told  map[string]bool // the notices so far
}

// found is what one look has found.
type found struct {
	lease.Finding
	asked time.Time
}

func newOperator(kube kubernetes.Interface, now func() time.Time) *operator {
	return &operator{now: now, known: lease.NewOperators(kube), told: map[string]bool{}}
}

// driving names the operator that drives a cluster, "" when there is none, and what
// the user is to be told of that: once in the life of the daemon.
func (o *operator) driving(ctx context.Context, t lease.Target) (by string, notices []string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f, err := o.look(ctx, t)
	if err != nil {
		return "", nil, err
	}
	for _, text := range f.Notices(t) {
		if !o.told[text] {
			o.told[text] = true
			notices = append(notices, text)
		}
	}
	if op, drives := f.Driving(t); drives {
		by = op.String()
	}
	return by, notices, nil
}

// look finds the operators, unless a look that is the answer for the cluster was not
// long ago.
func (o *operator) look(ctx context.Context, t lease.Target) (lease.Finding, error) {
	o.found = slices.DeleteFunc(o.found, func(f found) bool { return o.now().Sub(f.asked) > remembered })
	for _, f := range o.found {
		if f.Answers(t) {
			return f.Finding, nil
		}
	}
	f, err := o.known.Find(ctx, t)
	if err == nil {
		o.found = append(o.found, found{f, o.now()})
	}
	return f, err
}
