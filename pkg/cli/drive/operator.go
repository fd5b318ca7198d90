package drive

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

// operatorEvery is how often a run checks whether a tidb-operator has started or stopped.
const operatorEvery = 30 * time.Second

// soon is how long a check may take before it is reported to the user.
const soon = time.Second

// operator is the live tidb-operator that drives a cluster, if one does. It fails when
// that is unknown: to drive a cluster beside an operator does harm.
func (r run) operator(ctx context.Context, c topology.Cluster) (lease.Operator, bool, error) {
	defer unlessSoon(r.progress, "checks whether a tidb-operator is alive (up to 10 s)")()
	t := lease.TargetOf(c)
	found, err := r.Operators.Find(ctx, t)
	if err != nil {
		return lease.Operator{}, false, err
	}
	for _, n := range found.Notices(t) {
		if r.IsNew(n.Text) {
			r.progress.Notice(n.Reason, n.Text)
		}
	}
	op, drives := found.Driving(t)
	return op, drives, nil
}

// unlessSoon reports what is being done, unless the function that it returns is called soon.
func unlessSoon(progress *reconcile.Progress, what string) (over func()) {
	timer := time.AfterFunc(soon, func() { progress.Notice(event.DriverCheck, what) })
	return func() { timer.Stop() }
}

// untilOperator returns a context that ends, with the given cause, when a tidb-operator begins to drive the cluster.
// With begins false it ends when no tidb-operator drives the cluster any more. The function that it returns ends the
// checks.
func untilOperator(ctx context.Context, s *target.Session, begins bool, cause func(lease.Operator) error) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	about := lease.Target{Namespace: s.Namespace}
	go func() {
		defer close(done)
		_ = wait.PollUntilContextCancel(ctx, operatorEvery, false, func(ctx context.Context) (bool, error) {
			op, drives, err := driving(ctx, s, &about)
			// An API server that does not answer says nothing about operators.
			if err == nil && ctx.Err() == nil && drives == begins {
				cancel(cause(op))
			}
			return false, nil
		})
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}

// driving returns the operator that drives the cluster now, if one does. Without any operator that is a single
// request. Only an operator that selects clusters by labels has the operators read again.
func driving(ctx context.Context, s *target.Session, t *lease.Target) (lease.Operator, bool, error) {
	found, err := s.Operators.Find(ctx, *t)
	if err != nil || found.None() {
		return lease.Operator{}, false, err
	}
	tc, err := s.Load(ctx)
	if err != nil {
		return lease.Operator{}, false, err
	}
	if t.Labels = tc.Labels; !found.Answers(*t) {
		if found, err = s.Operators.Find(ctx, *t); err != nil {
			return lease.Operator{}, false, err
		}
	}
	op, drives := found.Driving(*t)
	return op, drives, nil
}

// operatorCame ends a run that drives. A tidb-operator does not read our Lease, so the run gives way. The run takes its
// temporary changes back before it ends.
type operatorCame struct{ op lease.Operator }

func (e *operatorCame) Error() string { return e.op.String() + " has begun to drive the cluster" }
