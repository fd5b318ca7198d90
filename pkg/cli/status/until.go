package status

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// goals are the states that can be awaited: those that stay until somebody does something.
var goals = []string{plan.Converged.String(), plan.Blocked.String(), plan.Paused.String(), plan.Canary.String()}

// outage is how long the API server may be away before a wait ends, as for a run that drives.
const outage = 5 * time.Minute

// until has the flags of a command that waits for a state, and only looks.
type until struct {
	goal    string // "": do not wait
	timeout time.Duration

	seen time.Time // when the cluster could be read last
}

func (u *until) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&u.goal, "for", "", "Wait until the cluster is in this state, and show it then: "+strings.Join(goals, ", ")+". Nothing is written.")
	cmd.Flags().DurationVar(&u.timeout, "timeout", 0, "With --for, stop waiting after this long, e.g. 30m. Zero waits for ever.")
	// The only error is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(goals, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("timeout", cobra.NoFileCompletions)
}

// validate checks what is known from the flags alone.
func (u *until) validate(changed func(flag string) bool) error {
	switch {
	case changed("for") && !slices.Contains(goals, u.goal):
		return exit.Usagef("--for %q: it has to be one of %s; for a condition: kubectl wait tidbcluster NAME --for=condition=Ready", u.goal, strings.Join(goals, ", "))
	case changed("timeout") && u.goal == "":
		return exit.Usagef("--timeout goes with --for")
	case u.timeout < 0:
		return exit.Usagef("--timeout must not be negative")
	}
	return nil
}

// errReached ends a wait.
var errReached = errors.New("the cluster is in the state that was awaited")

// ended returns why a wait ends with this look, nil while it goes on. A cluster that only a person
// can help does not converge by waiting: then it ends as a run that drives does.
func (u *until) ended(l sight) error {
	is := l.plan.Outcome
	switch {
	case u.goal == "":
	case is.String() == u.goal && !l.wanted.Cluster.Deleting:
		return errReached
	case u.goal != plan.Converged.String():
	case l.wanted.Cluster.Deleting:
		return exit.With(exit.Aborted, errors.New("the cluster is being deleted"))
	case is == plan.Blocked:
		return exit.With(exit.Refused, nil) // which is shown
	case is == plan.Paused, is == plan.Canary:
		return exit.With(exit.Paused, nil)
	}
	return nil
}

// bearable reports whether a wait goes on although the cluster could not be read: the API server
// may be away for a while. The first look says at once what is wrong.
func (u *until) bearable(err error, now time.Time) bool {
	if err == nil {
		u.seen = now
	}
	return err != nil && u.goal != "" && exit.Of(err) == exit.Failure && now.Sub(u.seen) < outage
}

// lost is the error of a wait for a cluster that was there when it began.
func (u *until) lost(err error) error {
	if intent.Gone(err) && !u.seen.IsZero() {
		return exit.With(exit.Aborted, errors.New("the TidbCluster was deleted"))
	}
	return err
}

// over returns the error with which the command ends. After a timeout it shows the last look.
func (u *until) over(err error, show func() error) error {
	switch {
	case errors.Is(err, errReached):
		return nil
	case errors.Is(err, exit.ErrTimedOut) && !u.seen.IsZero():
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
