package drive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

const (
	// bidEvery is how often a command that follows checks whether the cluster still has a driver. Each check is
	// a request, in a wait that may take hours.
	bidEvery = 10 * time.Second
	// yieldWithin is how long a daemon may take to release the lease: until its next renewal, and
	// for its current step.
	yieldWithin = 30 * time.Second
)

// other is the driver of the cluster, if that is not this process.
type other struct {
	name string
	// leases: it holds the cluster's Lease, so that its end is seen.
	leases bool
}

// hold makes this process the cluster's driver. If there is another driver, hold returns that driver, and the caller
// may only follow. A run may have a policy of its own, such as a time limit for evictions. Then the run asks the other
// driver for the lease, because the other driver does not know the policy.
func (r run) hold(ctx context.Context, c topology.Cluster) (*lease.Held, *other, error) {
	if !r.o.TakeOver {
		op, drives, err := r.operator(ctx, c)
		if err != nil {
			return nil, nil, err
		}
		if drives {
			return nil, &other{name: op.String()}, nil
		}
	}
	defer unlessSoon(r.progress, "checks whether another command drives the cluster (up to 30 s)")()
	held, err := lease.Acquire(ctx, r.Kube, c, lease.Self())
	taken, ok := errors.AsType[*lease.HeldError](err)
	if !ok {
		return held, nil, err
	}
	by := &other{name: taken.Holder.Describe(), leases: true}
	if !demanding(r.policy) {
		return nil, by, nil
	}
	if err := lease.Ask(ctx, r.Kube, c, lease.Self()); err != nil {
		return nil, nil, err
	}
	end, cancel := context.WithTimeout(ctx, yieldWithin)
	defer cancel()
	if held = r.await(ctx, end, c, time.Second); held == nil {
		return nil, by, ctx.Err()
	}
	return held, nil, nil
}

// demanding reports whether a policy differs from the default.
func demanding(p plan.Policy) bool {
	return p.Failover.Members || p.Failover.Now || len(p.Failover.Discard) > 0 || p.Eviction != plan.Eviction{} || p.Concurrency.Batches()
}

// await makes this process the cluster's driver as soon as there is no other driver. It returns nil when end comes
// before. The lease is kept until ctx ends.
func (r run) await(ctx, end context.Context, c topology.Cluster, every time.Duration) *lease.Held {
	bid := lease.NewBid(r.Kube, c, lease.Self())
	var held *lease.Held
	_ = wait.PollUntilContextCancel(end, every, false, func(context.Context) (bool, error) {
		// If the API server does not answer, nothing is known about the other driver.
		held, _ = bid.Try(ctx)
		return held != nil, nil
	})
	return held
}

// errVacant ends a run that follows: the cluster has no driver any more.
var errVacant error = vacant{}

type vacant struct{}

func (vacant) Error() string { return "the cluster has no driver any more" }

// HandsOff implements reconcile.HandsOff: a follower has nothing to take back.
func (vacant) HandsOff() bool { return true }

// silent is a run that reports to nobody.
func silent(f *factory.Factory, s *target.Session) run {
	return run{Session: s, f: f, progress: s.Progress(f, "", reconcile.Reporters{})}
}

// Hold makes this process the cluster's driver until it releases the lease. It refuses where another
// process, or a tidb-operator, drives the cluster: the two would undo what the other does.
func Hold(ctx context.Context, f *factory.Factory, s *target.Session, c topology.Cluster) (*lease.Held, error) {
	held, by, err := silent(f, s).hold(ctx, c)
	switch {
	case err != nil:
		return nil, err
	case held != nil:
		return held, nil
	}
	err = exit.With(exit.Held, fmt.Errorf("%s drives %s, and only one process may change it at a time", by.name, target.Title(c)))
	if !by.leases { // an operator drives all the time
		return nil, remedy.For(err, remedy.Say("stop it, or exclude the cluster by its -selector"))
	}
	return nil, remedy.For(err, remedy.Run("wait until it has ended", c.Plugin("wait", "--for=converged")))
}

// Alone makes this process the cluster's driver for a short piece of work, with an engine that may
// change it. It refuses what Hold refuses.
func Alone(ctx context.Context, f *factory.Factory, s *target.Session, work func(context.Context, reconcile.Engine) error) error {
	tc, err := s.Load(ctx)
	if err != nil {
		return err
	}
	cluster := topology.New(tc)
	held, err := Hold(ctx, f, s, cluster)
	if err != nil {
		return err
	}
	defer func() { _ = held.Release() }()
	engine := reconcile.Engine{Observer: s.Observer, Lease: held}
	s.Follow(&engine, plan.Policy{}, silent(f, s).progress, upkeepAtOnce)
	s.Drive(&engine, s.Observer, cluster, s.Intent)
	s.Observer.ReadForUpkeep(observe.Fresh)
	return work(held.Context(), engine)
}
