package drive

import (
	"context"
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

// Hold makes this process the cluster's driver until it releases the lease. It refuses where another
// process, or a tidb-operator, drives the cluster: the two would undo what the other does.
func (s *Session) Hold(ctx context.Context, f *factory.Factory, c topology.Cluster) (*lease.Held, error) {
	progress := reconcile.NewProgress(s.Namespace, s.Name, f.Clock.Now, reconcile.Reporters{}).In(f.Context())
	held, by, err := s.hold(ctx, c, flags.Options{}, plan.Policy{}, progress)
	switch {
	case err != nil:
		return nil, err
	case held != nil:
		return held, nil
	}
	err = exit.With(exit.Held, fmt.Errorf("%s drives %s, and only one process may change it at a time", by.name, title(c)))
	if !by.leases { // an operator drives all the time
		return nil, remedy.For(err, remedy.Say("stop it, or exclude the cluster by its -selector"))
	}
	return nil, remedy.For(err, remedy.Run("wait until it has ended", c.Plugin("wait", "--for=converged")))
}

// Alone makes this process the cluster's driver for a short piece of work, with an engine that may
// change it. It refuses what Hold refuses.
func (s *Session) Alone(ctx context.Context, f *factory.Factory, work func(context.Context, reconcile.Engine) error) error {
	tc, err := s.Load(ctx)
	if err != nil {
		return err
	}
	cluster := topology.New(tc)
	held, err := s.Hold(ctx, f, cluster)
	if err != nil {
		return err
	}
	defer func() { _ = held.Release() }()
	progress := reconcile.NewProgress(s.Namespace, s.Name, f.Clock.Now, reconcile.Reporters{}).In(f.Context())
	engine := reconcile.Engine{Observer: s.Observer, Lease: held}
	s.Follow(&engine, plan.Policy{}, progress, upkeepAtOnce)
	s.Drive(&engine, s.Observer, cluster, s.Intent)
	s.Observer.ReadForUpkeep(observe.Fresh)
	return work(held.Context(), engine)
}
