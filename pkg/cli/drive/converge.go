package drive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/resident"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

const (
	// Outage is how long an API server may be away before a run or a wait that has begun ends.
	Outage = 5 * time.Minute
	// again is the pause between two attempts to drive the cluster again.
	again = 2 * time.Second
	// heapGrowth is by how many percent the heap may grow before the garbage collector runs, in a run that takes longer
	// than short. Such a run may wait for hours. In a short one it was a quarter of the processor time.
	heapGrowth = 25
	short      = 2 * time.Minute
)

// converge runs the engine until the engine has nothing left to do. Without the API server a run loses its lease. The
// run does not end then, because no other process can do anything either. When the API server answers again, the run
// drives the cluster, or follows the process that drives the cluster then. The run also goes on when a tidb-operator
// begins to drive the cluster, and when a tidb-operator stops.
func (r run) converge(ctx context.Context) (plan.Plan, error) {
	defer resident.Waits(heapGrowth, short)()
	p, err := r.attempt(ctx)
	for ctx.Err() == nil {
		came, isCame := errors.AsType[*operatorCame](err)
		switch {
		case errors.Is(err, lease.ErrLost):
			r.progress.Notice(event.DrivingResumed, "the API server was away for too long; taking the cluster up again")
		case isCame:
			if left, ok := errors.AsType[*reconcile.UndoError](err); ok {
				r.progress.Notice(event.UndoFailed, remedy.Text(left, r.f.Context()))
			}
			r.progress.Notice(event.DrivingStopped, came.Error()+"; this command stops driving")
		case errors.Is(err, errVacant):
			r.progress.Notice(event.TakingOver, err.Error()+"; taking over")
		default:
			return p, err
		}
		p, err = r.retry(ctx)
	}
	return p, err
}

// retry attempts until the API server answers again.
func (r run) retry(ctx context.Context) (plan.Plan, error) {
	_ = wait.PollUntilContextTimeout(ctx, again, Outage, true, func(context.Context) (bool, error) {
		_, err := r.Load(ctx)
		return err == nil, nil
	})
	return r.attempt(ctx) // which says what is wrong, if it still is
}

// attempt makes this process the driver, or a follower as long as there is another driver, and runs
// the engine.
func (r run) attempt(ctx context.Context) (plan.Plan, error) {
	tc, err := r.Load(ctx)
	if err != nil {
		return plan.Plan{}, err
	}
	cluster := topology.New(tc)
	held, by, err := r.hold(ctx, cluster)
	if err != nil {
		return plan.Plan{}, err
	}
	engine := reconcile.Engine{Observer: r.Observer}
	r.Follow(&engine, r.policy, r.progress, upkeepAtOnce)
	if held == nil {
		if r.o.NoFollow {
			return plan.Plan{}, exit.With(exit.Held, fmt.Errorf("%s drives the cluster, and will do what was asked for", by.name))
		}
		r.progress.Notice(event.FollowingDriver, by.name+" drives the cluster; following, making no changes")
		var p plan.Plan
		if p, held, err = r.follow(ctx, cluster, engine, by); held == nil {
			return p, err
		}
		r.progress.Notice(event.TakingOver, by.name+" drives the cluster no more; taking over")
	}
	defer func() { _ = held.Release() }()
	engine.Lease = held
	r.Drive(&engine, r.Observer, cluster, r.Intent)
	r.Observer.ReadForUpkeep(observe.Fresh)
	work, over := r.alert(held.Context())
	defer over()
	return r.engage(work, cluster, engine, nil)
}

// alert returns the context of a run that drives. The context ends when a tidb-operator begins to drive.
func (r run) alert(ctx context.Context) (context.Context, func()) {
	if r.o.TakeOver {
		return ctx, func() {}
	}
	return untilOperator(ctx, r.Session, true, func(op lease.Operator) error { return &operatorCame{op} })
}

// follow waits until the cluster has converged, or no process drives it any more: then this process
// takes the lease.
func (r run) follow(ctx context.Context, c topology.Cluster, e reconcile.Engine, by *other) (plan.Plan, *lease.Held, error) {
	if !by.leases {
		p, err := r.followOperator(ctx, c, e, by)
		return p, nil, err
	}
	look, stop := context.WithCancelCause(ctx)
	vacancy := make(chan *lease.Held, 1)
	go func() {
		held := r.await(ctx, look, c, bidEvery)
		if held != nil {
			stop(errVacant)
		}
		vacancy <- held
	}()
	p, err := r.engage(look, c, e, nil)
	stop(nil)
	held := <-vacancy
	if held != nil && !errors.Is(err, errVacant) { // it came too late to be of use
		_ = held.Release()
		held = nil
	}
	return p, held, err
}

// followOperator waits until the cluster has converged, or no tidb-operator drives it any more.
func (r run) followOperator(ctx context.Context, c topology.Cluster, e reconcile.Engine, by *other) (plan.Plan, error) {
	look, over := untilOperator(ctx, r.Session, false, func(lease.Operator) error { return errVacant })
	defer over()
	watched := &reaction{
		progress: e.Progress, now: r.f.Clock.Now, who: by.name,
		advice: remedy.Remedy{
			remedy.Run("if it does not drive this cluster, or not any more", c.Plugin("sync", "--take-over")),
			remedy.Say("see its log, if it does"),
		},
	}
	return r.engage(look, c, e, watched)
}

// engage runs the engine until it has nothing left to do. If it follows a tidb-operator, watched
// says whether that one acts.
func (r run) engage(ctx context.Context, c topology.Cluster, e reconcile.Engine, watched *reaction) (plan.Plan, error) {
	meta, err := r.f.Metadata()
	if err != nil {
		return plan.Plan{}, err
	}
	watch, stop := context.WithCancel(ctx)
	defer stop()
	pacer := &reconcile.Pacer{Nudges: r.Observer.Watch(watch, meta, c), Now: r.f.Clock.Now, Wake: r.Observer.ReadChanges().Wake}
	if watched == nil {
		return reconcile.Run(ctx, e, pacer)
	}
	watched.Observer, watched.Waiter = e.Observer, pacer
	e.Observer = watched
	return reconcile.Run(ctx, e, watched)
}
