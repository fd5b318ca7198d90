package drive

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
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
func (s *Session) hold(
	ctx context.Context, c topology.Cluster, o flags.Options, policy plan.Policy, progress *reconcile.Progress,
) (*lease.Held, *other, error) {
	op, drives, err := s.operator(ctx, c, o, progress)
	if err != nil {
		return nil, nil, err
	}
	if drives {
		return nil, &other{name: op.String()}, nil
	}
	defer unlessSoon(progress, "checks whether another command drives the cluster (up to 30 s)")()
	held, err := lease.Acquire(ctx, s.Kube, c, lease.Self())
	taken, ok := errors.AsType[*lease.HeldError](err)
	if !ok {
		return held, nil, err
	}
	by := &other{name: taken.Holder.Describe(), leases: true}
	if !demanding(policy) {
		return nil, by, nil
	}
	if err := lease.Ask(ctx, s.Kube, c, lease.Self()); err != nil {
		return nil, nil, err
	}
	end, cancel := context.WithTimeout(ctx, yieldWithin)
	defer cancel()
	if held = s.await(ctx, end, c, time.Second); held == nil {
		return nil, by, ctx.Err()
	}
	return held, nil, nil
}

// demanding reports whether a policy differs from the default.
func demanding(p plan.Policy) bool {
	return p.Failover.Members || p.Failover.Now || len(p.Failover.Discard) > 0 || p.Eviction != plan.Eviction{}
}

// await makes this process the cluster's driver as soon as there is no other driver. It returns nil when end comes
// before. The lease is kept until ctx ends.
func (s *Session) await(ctx, end context.Context, c topology.Cluster, every time.Duration) *lease.Held {
	bid := lease.NewBid(s.Kube, c, lease.Self())
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
