package drive

import (
	"context"
	"slices"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// wayBackTime bounds the time in which a run that ends finds out whether its change can be taken back.
const wayBackTime = 5 * time.Second

// failed are the exit codes of runs after which a user may want to go back. So may one who judges a canary.
var failed = []exit.Code{exit.Failure, exit.Refused, exit.TimedOut}

// withWayBack adds to the error of a failed run the command that takes the change back, if possible now. A command
// that is refused is of no use in the middle of an incident.
func (s *Session) withWayBack(ctx context.Context, asked *v1alpha1.TidbCluster, err error) error {
	if asked == nil || !slices.Contains(failed, exit.Of(err)) && !atCanary(err) {
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
	p, refused := s.check(ctx, propose(Request{Change: change, WithoutPD: true}).atTime(s.Now()))
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
	_, err := s.check(ctx, propose(r).atTime(s.Now()))
	if err == nil && r.Write != nil {
		err = r.Write(ctx, intent.Write{DryRun: true})
	}
	return err
}
