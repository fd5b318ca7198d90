package drive

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
)

const (
	// begins is how long another process may take to begin with what was written. A daemon takes a
	// second or two, and the lease of a command that was killed lasts for 30 s.
	begins = 45 * time.Second
	// lookEvery is the pause between two looks at the Lease.
	lookEvery = 500 * time.Millisecond
)

// leave ends a run that does not wait: what is wanted was written, and another process carries it
// out. A daemon that has nothing to do holds no lease, so whether there is one can be seen only
// after the write. If no process begins, the user has to know: nobody would go on.
func (r run) leave(ctx context.Context, c topology.Cluster) error {
	op, drives, err := r.operator(ctx, c)
	if err != nil {
		return err
	}
	who := op.String()
	if !drives {
		who, err = r.begun(ctx, c)
	}
	switch {
	case err != nil:
		return err
	case who == "":
		return remedy.For(
			exit.Refusef("what is wanted was written to %s, but no other process began with it in %s, so that nothing was done", target.Title(c), begins),
			remedy.Run("have it done by a command", c.Plugin("sync")),
			remedy.Say(`have it done by a daemon, which "kubectl tidb daemon manifest" prints`))
	}
	r.progress.Notice(event.LeftToDriver, who+" drives the cluster, and does what was asked for; this command does not wait",
		remedy.Run("follow it", c.Plugin("status", "-w")))
	return nil
}

// begun waits until the Lease of a cluster shows that another process drives it, and returns the process's name. The
// name is "" when no process has begun for long enough. Only a change of the Lease counts: a process that was killed
// stays its holder.
func (r run) begun(ctx context.Context, c topology.Cluster) (who string, err error) {
	defer unlessSoon(r.progress, fmt.Sprintf("looks for another process that drives the cluster (up to %s)", begins))()
	var first *lease.Holder
	var unread error // only at first: the last look may be cut off by its own end
	err = wait.PollUntilContextTimeout(ctx, lookEvery, begins, true, func(ctx context.Context) (bool, error) {
		now, err := lease.ReadHolder(ctx, r.Kube, c)
		switch unread = err; {
		case exit.Of(err) == exit.Forbidden:
			return false, err
		case err != nil:
			return false, nil // the API server may be away for a moment
		}
		if first == nil {
			first = &now
		}
		if now.Equal(*first) {
			return false, nil
		}
		if who = now.Describe(); who == "" {
			who = "another process" // which has given the lease back already
		}
		return true, nil
	})
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case first == nil:
		return "", unread
	case wait.Interrupted(err):
		return "", nil
	}
	return who, err
}
