package status

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/wait"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
)

// goals are the states that can be awaited. Such a state stays until somebody does something.
var goals = []string{plan.Converged.String(), plan.Blocked.String(), plan.Paused.String(), plan.Canary.String()}

// until has the flags of a command that waits for a state, and only looks.
type until struct {
	goal    string // "": do not wait
	timeout time.Duration

	outages wait.Outages
}

func (u *until) table() flags.Table {
	return flags.Table{
		{Name: "for", Add: flags.Text(&u.goal, ""), Values: goals,
			Usage: "Wait until the cluster is in this state, and show it then: " + strings.Join(goals, ", ") + ". Nothing is written."},
		{Name: "timeout", Needs: "for", Add: flags.Duration(&u.timeout, 0),
			Usage: "stop waiting after this long, e.g. 30m. Zero waits for ever."},
	}
}

// validate checks what is known from the flags alone.
func (u *until) validate(set *pflag.FlagSet) error {
	switch {
	case set.Changed("for") && !slices.Contains(goals, u.goal):
		return exit.Usagef("--for %q: it has to be one of %s; for a condition: kubectl wait tidbcluster NAME --for=condition=Ready", u.goal, strings.Join(goals, ", "))
	case u.timeout < 0:
		return exit.Usagef("--timeout must not be negative")
	}
	return u.table().Check(set)
}

// errReached ends a wait.
var errReached = errors.New("the cluster is in the state that was awaited")

// whyEnded returns why a wait ends with this look, nil while it goes on. A cluster that only a person
// can help does not converge by waiting: then it ends as a run that drives does.
func (u *until) whyEnded(l sight) error {
	if u.goal == "" {
		return nil
	}
	over, end := wait.Outcome(u.goal).Ended(wait.Sight{Wanted: l.wanted, Snapshot: l.snapshot, Plan: l.plan})
	switch {
	case !over:
		return nil
	case end == nil:
		return errReached
	case l.wanted.Cluster.Deleting:
		return end
	}
	return drive.Said(end) // what is shown has the reason
}

// bearable reports whether a wait goes on although the cluster could not be read.
func (u *until) bearable(err error, now time.Time) bool {
	return u.outages.Bearable(err, now) && u.goal != ""
}

// endError returns the error with which the command ends. After a timeout it shows the last look.
func (u *until) endError(err error, show func() error) error {
	switch {
	case errors.Is(err, errReached):
		return nil
	case errors.Is(err, exit.ErrTimedOut) && u.outages.Seen():
		return errors.Join(exit.With(exit.TimedOut, fmt.Errorf("timed out after %s: the cluster is not %s", u.timeout, u.goal)), show())
	}
	return err
}

// doing says what the command does, for a wait that is shown.
func (u *until) doing(cluster string) string {
	if u.goal == "" {
		return "reading cluster " + cluster
	}
	return "waiting until cluster " + cluster + " is " + u.goal
}
