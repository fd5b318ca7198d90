package drive

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/preview"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

// wayBackTime is how long the end of a run may take to find out whether its change can be taken back.
const wayBackTime = 5 * time.Second

// failed are the exit codes of runs after which a user may want to go back.
var failed = []exit.Code{exit.Failure, exit.Refused, exit.TimedOut}

// withWayBack adds the command that takes the change of a failed run back to its error, if that is
// possible now: a command that is refused is of no use in the middle of an incident.
func (s *Session) withWayBack(ctx context.Context, asked *v1alpha1.TidbCluster, err error) error {
	if asked == nil || !slices.Contains(failed, exit.Of(err)) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wayBackTime) // the run's time may be over
	defer cancel()
	now, unread := s.Load(ctx)
	if unread != nil {
		return err
	}
	change, _, none := s.Intent.Rollback(now)
	if none != nil {
		return err
	}
	p, refused := s.check(ctx, propose(Request{Change: change, WithoutPD: true}).at(s.Now()))
	if refused != nil {
		return err
	}
	var flags []string
	if !p.snapshot.PD.Known() { // such as after an upgrade of PD to an image that does not exist
		flags = append(flags, "--force")
	}
	return remedy.For(err, remedy.Run("to go back", p.wanted.Cluster.Plugin("rollback", flags...)))
}

// Check refuses what Run would refuse, and changes nothing.
func (s *Session) Check(ctx context.Context, r Request) error {
	_, err := s.check(ctx, propose(r).at(s.Now()))
	if err == nil && r.Write != nil {
		err = r.Write(ctx, intent.Write{DryRun: true})
	}
	return err
}

// Underway returns what is left to be done in each component for what the spec asks for, a line
// each; nothing for a spec that was carried out, also where a member is being repaired. A spec that
// would be refused by now is under way as well: it is what a person may want to take back.
func (s *Session) Underway(ctx context.Context, tc *v1alpha1.TidbCluster) ([]string, error) {
	now := topology.New(tc)
	seen, err := s.Observer.Against(ctx, now)
	if err != nil {
		return nil, err
	}
	w, err := render.Want(seen)
	if refused, ok := errors.AsType[*render.RefusedError](err); ok {
		return []string{"a spec that cannot be carried out: " + refused.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	if plan.Decide(component.Profiles(), plan.Policy{}, w, seen.Snapshot).Outcome == plan.Converged {
		return nil, nil
	}
	return preview.Preview{Now: &now, Wanted: w, Seen: seen.Snapshot}.Changes(), nil
}

// Unneeded ends a command that has nothing to do: its events and its reports say so, too.
func (s *Session) Unneeded(f *factory.Factory, o Options, action, why string) error {
	if err := o.Reports.Begin(); err != nil {
		return err
	}
	printer := s.Printer(f, o.Output, action)
	defer printer.Close()
	reporters := reconcile.Reporters{o.Reports.In(f.Context()), printer}
	progress := reconcile.NewProgress(s.Namespace, s.Name, f.Clock.Now, reporters).In(f.Context()).For(action)
	progress.Notice(event.NothingToDo, why)
	progress.Done(event.OutcomeConverged, int(exit.OK), 0, nil)
	return o.reported(nil)
}
