package daemon

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
)

// remembered is how long a search for tidb-operators stays valid. One that has just
// been installed needs longer than this to be elected.
const remembered = 15 * time.Second

// operator finds tidb-operators that drive clusters. Operators do not know our leases, so the daemon must leave an
// operator's clusters to the operator. One search serves all clusters for which it is the answer.
type operator struct {
	now func() time.Time

	mu       sync.Mutex
	known    *lease.Operators
	found    []found         // not older than remembered
	returned map[string]bool // the notices that were returned already
}

// found is what one search has found.
type found struct {
	lease.LiveOperators
	asked time.Time
}

func newOperator(kube kubernetes.Interface, now func() time.Time) *operator {
	return &operator{now: now, known: lease.NewOperators(kube), returned: map[string]bool{}}
}

// driving returns the name of the operator that drives a cluster, "" when there is none. It also returns notices for
// the user, each notice once per process.
func (o *operator) driving(ctx context.Context, t lease.Target) (by string, notices []lease.Notice, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f, err := o.find(ctx, t)
	if err != nil {
		return "", nil, err
	}
	for _, n := range f.Notices(t) {
		if !o.returned[n.Text] {
			o.returned[n.Text] = true
			notices = append(notices, n)
		}
	}
	if op, drives := f.Driving(t); drives {
		by = op.String()
	}
	return by, notices, nil
}

// find searches for operators, unless a recent search is the answer for the
// cluster.
func (o *operator) find(ctx context.Context, t lease.Target) (lease.LiveOperators, error) {
	o.found = slices.DeleteFunc(o.found, func(f found) bool { return o.now().Sub(f.asked) > remembered })
	for _, f := range o.found {
		if f.Answers(t) {
			return f.LiveOperators, nil
		}
	}
	f, err := o.known.Find(ctx, t)
	if err == nil {
		o.found = append(o.found, found{f, o.now()})
	}
	return f, err
}
