package drive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/act"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/observe"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/reconcile"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// attempt makes this process the driver, or an onlooker for as long as there is
// another one, and runs the engine.
func (s *Session) attempt(ctx context.Context, f *factory.Factory, o Options, policy plan.Policy, story *reconcile.Story) (plan.Plan, error) {
	tc, err := s.Load(ctx)
	if err != nil {
		return plan.Plan{}, err
	}
	cluster := topology.New(tc)
	held, by, err := s.hold(ctx, cluster, policy)
	if err != nil {
		return plan.Plan{}, err
	}
	engine := reconcile.Engine{Profiles: component.Profiles(), Policy: policy, Observer: s.Observer, Story: story}
	if held == nil {
		if o.NoFollow {
			return plan.Plan{}, exit.With(exit.Held, fmt.Errorf("%s drives the cluster, and will carry out what was asked", by.name))
		}
		story.Notice(by.name + " drives the cluster; looking on")
		var p plan.Plan
		if p, held, err = s.follow(ctx, f, cluster, engine, by); held == nil {
			return p, err
		}
		story.Notice(by.name + " drives the cluster no more; taking over")
	}
	defer func() { _ = held.Release() }()
	engine.Lease = held
	engine.Actor = act.New(s.Kube, s.Intent, s.Observer.PD, cluster, f.Clock.Now)
	engine.Recorder = act.NewRecorder(s.Intent, s.Observer.Existing)
	engine.Upkeep = reconcile.NewUpkeep(upkeepAtOnce, time.Now)
	s.Observer.Tend(observe.Fresh)
	return s.engage(held.Context(), f, cluster, engine)
}

// follow looks on until the cluster is as wanted, or nobody drives it any more:
// then the lease is ours.
func (s *Session) follow(
	ctx context.Context, f *factory.Factory, c topology.Cluster, e reconcile.Engine, by *other,
) (plan.Plan, *lease.Held, error) {
	if !by.leases {
		p, err := s.engage(ctx, f, c, e)
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
	p, err := s.engage(look, f, c, e)
	stop(nil)
	held := <-vacancy
	if held != nil && !errors.Is(err, errVacant) { // it came too late to be of use
		_ = held.Release()
		held = nil
	}
	return p, held, err
}

// engage runs the engine until there is nothing left to do for it.
func (s *Session) engage(ctx context.Context, f *factory.Factory, c topology.Cluster, e reconcile.Engine) (plan.Plan, error) {
	meta, err := f.Metadata()
	if err != nil {
		return plan.Plan{}, err
	}
	watch, stop := context.WithCancel(ctx)
	defer stop()
	return reconcile.Run(ctx, e, &reconcile.Pacer{Nudges: observe.Watch(watch, meta, c), Now: f.Clock.Now})
}
