package drive

import (
	"context"
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

// Alone makes this process the cluster's driver for a short piece of work, with an engine that may
// change it. It refuses where another process drives the cluster: the two would undo what the other
// does.
func (s *Session) Alone(ctx context.Context, f *factory.Factory, work func(context.Context, reconcile.Engine) error) error {
	tc, err := s.Load(ctx)
	if err != nil {
		return err
	}
	cluster := topology.New(tc)
	progress := reconcile.NewProgress(s.Namespace, s.Name, f.Clock.Now, reconcile.Reporters{}).In(f.Context())
	held, by, err := s.hold(ctx, cluster, Options{}, plan.Policy{}, progress)
	if err != nil {
		return err
	}
	if held == nil {
		return exit.With(exit.Held, fmt.Errorf("%s drives cluster %s/%s, so nothing was changed", by.name, s.Namespace, s.Name))
	}
	defer func() { _ = held.Release() }()
	engine := reconcile.Engine{Observer: s.Observer, Lease: held}
	s.Follow(&engine, plan.Policy{}, progress, upkeepAtOnce)
	s.Drive(&engine, s.Observer, cluster, s.Intent)
	s.Observer.ReadForUpkeep(observe.Fresh)
	return work(held.Context(), engine)
}
