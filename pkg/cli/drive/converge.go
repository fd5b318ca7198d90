package drive

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/resident"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

const (
	// Outage is how long an API server may be away before a run or a wait that has begun ends.
	Outage = 5 * time.Minute
	// again is the pause between two attempts to drive the cluster again.
	again = 2 * time.Second
	// heapGrowth is by how many percent the heap may grow before the garbage collector runs: a run may wait for hours.
	heapGrowth = 25
)

// converge runs the engine until the engine has nothing left to do. Without the API server a run loses its lease. The
// run does not end then, because no other process can do anything either. When the API server answers again, the run
// drives the cluster, or follows the process that drives the cluster then. The run also goes on when a tidb-operator
// begins to drive the cluster, and when a tidb-operator stops.
func (s *Session) converge(ctx context.Context, f *factory.Factory, o flags.Options, policy plan.Policy, progress *reconcile.Progress) (plan.Plan, error) {
	defer resident.Waits(heapGrowth)()
	p, err := s.attempt(ctx, f, o, policy, progress)
	for ctx.Err() == nil {
		came, isCame := errors.AsType[*operatorCame](err)
		switch {
		case errors.Is(err, lease.ErrLost):
			progress.Notice(event.DrivingResumed, "the API server was away for too long; taking the cluster up again")
		case isCame:
			if left, ok := errors.AsType[*reconcile.UndoError](err); ok {
				progress.Notice(event.UndoFailed, remedy.Text(left, f.Context()))
			}
			progress.Notice(event.DrivingStopped, came.Error()+"; this command stops driving")
		case errors.Is(err, errVacant):
			progress.Notice(event.TakingOver, err.Error()+"; taking over")
		default:
			return p, err
		}
		p, err = s.retry(ctx, f, o, policy, progress)
	}
	return p, err
}

// retry attempts until the API server answers again.
func (s *Session) retry(ctx context.Context, f *factory.Factory, o flags.Options, policy plan.Policy, progress *reconcile.Progress) (plan.Plan, error) {
	_ = wait.PollUntilContextTimeout(ctx, again, Outage, true, func(context.Context) (bool, error) {
		_, err := s.Load(ctx)
		return err == nil, nil
	})
	return s.attempt(ctx, f, o, policy, progress) // which says what is wrong, if it still is
}
