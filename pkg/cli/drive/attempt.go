package drive

import (
	"context"
	"errors"
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

// attempt makes this process the driver, or a follower as long as there is another driver, and runs
// the engine.
func (s *Session) attempt(ctx context.Context, f *factory.Factory, o flags.Options, policy plan.Policy, progress *reconcile.Progress) (plan.Plan, error) {
	tc, err := s.Load(ctx)
	if err != nil {
		return plan.Plan{}, err
	}
	cluster := topology.New(tc)
	held, by, err := s.hold(ctx, cluster, o, policy, progress)
	if err != nil {
		return plan.Plan{}, err
	}
	engine := reconcile.Engine{Observer: s.Observer}
	s.Follow(&engine, policy, progress, upkeepAtOnce)
	if held == nil {
		if o.NoFollow {
			return plan.Plan{}, exit.With(exit.Held, fmt.Errorf("%s drives the cluster, and will do what was asked for", by.name))
		}
		progress.Notice(event.FollowingDriver, by.name+" drives the cluster; following, making no changes")
		var p plan.Plan
		if p, held, err = s.follow(ctx, f, cluster, engine, by); held == nil {
			return p, err
		}
		progress.Notice(event.TakingOver, by.name+" drives the cluster no more; taking over")
	}
	defer func() { _ = held.Release() }()
	engine.Lease = held
	s.Drive(&engine, s.Observer, cluster, s.Intent)
	s.Observer.ReadForUpkeep(observe.Fresh)
	work, over := s.alert(held.Context(), o)
	defer over()
	return s.engage(work, f, cluster, engine, nil)
}

// alert returns the context of a run that drives. It ends when a tidb-operator begins to drive.
func (s *Session) alert(ctx context.Context, o flags.Options) (context.Context, func()) {
	if o.TakeOver {
		return ctx, func() {}
	}
	return s.untilOperator(ctx, true, func(op lease.Operator) error { return &operatorCame{op} })
}

// follow waits until the cluster has converged, or no process drives it any more: then this process
// takes the lease.
func (s *Session) follow(
	ctx context.Context, f *factory.Factory, c topology.Cluster, e reconcile.Engine, by *other,
) (plan.Plan, *lease.Held, error) {
	if !by.leases {
		p, err := s.followOperator(ctx, f, c, e, by)
		return p, nil, err
	}
	look, stop := context.WithCancelCause(ctx)
	vacancy := make(chan *lease.Held, 1)
	go func() {
		held := s.await(ctx, look, c, bidEvery)
		if held != nil {
			stop(errVacant)
		}
		vacancy <- held
	}()
	p, err := s.engage(look, f, c, e, nil)
	stop(nil)
	held := <-vacancy
	if held != nil && !errors.Is(err, errVacant) { // it came too late to be of use
		_ = held.Release()
		held = nil
	}
	return p, held, err
}

// followOperator waits until the cluster has converged, or no tidb-operator drives it any more.
func (s *Session) followOperator(ctx context.Context, f *factory.Factory, c topology.Cluster, e reconcile.Engine, by *other) (plan.Plan, error) {
	look, over := s.untilOperator(ctx, false, func(lease.Operator) error { return errVacant })
	defer over()
	r := &reaction{
		progress: e.Progress, now: f.Clock.Now, who: by.name,
		advice: remedy.Remedy{
			remedy.Run("if it does not drive this cluster, or not any more", c.Plugin("sync", "--take-over")),
			remedy.Say("see its log, if it does"),
		},
	}
	return s.engage(look, f, c, e, r)
}

// engage runs the engine until it has nothing left to do. If it follows a tidb-operator, reaction
// watches whether that one acts.
func (s *Session) engage(ctx context.Context, f *factory.Factory, c topology.Cluster, e reconcile.Engine, r *reaction) (plan.Plan, error) {
	meta, err := f.Metadata()
	if err != nil {
		return plan.Plan{}, err
	}
	watch, stop := context.WithCancel(ctx)
	defer stop()
	pacer := &reconcile.Pacer{Nudges: observe.Watch(watch, meta, c), Now: f.Clock.Now, Wake: s.Observer.ReadChanges().Wake}
	if r == nil {
		return reconcile.Run(ctx, e, pacer)
	}
	r.Observer, r.Waiter = e.Observer, pacer
	e.Observer = r
	return reconcile.Run(ctx, e, r)
}
