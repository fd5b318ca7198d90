package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/wait"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
)

// goals are the states that can be awaited. Such a state stays until somebody does something.
var goals = []string{plan.Converged.String(), plan.Blocked.String(), plan.Paused.String(), plan.Canary.String()}

// until has the flags of a command that waits for a state, and only looks.
type until struct {
	goal    string // "": do not wait
	timeout time.Duration
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

// loop returns the wait for the state. Without --for it waits for nothing, and bears no outage.
func (u *until) loop() wait.Loop {
	if u.goal == "" {
		return wait.Loop{Goal: wait.Never()}
	}
	return wait.Loop{Goal: wait.Outcome(u.goal), Outage: drive.Outage}
}

// screen is what a command that looks again and again shows.
type screen struct {
	output.Screen
	all   bool // the looks before the last one as well
	print func(sight, io.Writer) error
}

// await looks until the cluster is in the state, and shows the last look.
func (u *until) await(ctx context.Context, l wait.Loop, look func(context.Context) (sight, error), to screen) error {
	var last sight
	shown := false
	l.Look = func(ctx context.Context, _ bool) (wait.Sight, error) {
		s, err := look(ctx)
		if err == nil {
			last = s
		}
		return wait.Sight{Wanted: s.wanted, Snapshot: s.snapshot, Plan: s.plan, Live: true, Unreadable: s.unreadable}, err
	}
	l.Show = func(_ wait.Sight, over bool) (err error) {
		switch {
		case over:
			err = to.print(last, to.Out)
			shown = err == nil
		case to.all:
			err = to.Show(func(out io.Writer) error { return to.print(last, out) })
		}
		return err
	}
	l.Fail = func(error) {}
	l.Late = func() error {
		err := exit.With(exit.TimedOut, fmt.Errorf("timed out after %s: the cluster is not %s", u.timeout, u.goal))
		if to.all {
			return err // it was shown
		}
		return errors.Join(err, to.print(last, to.Out))
	}
	err := l.Run(ctx)
	if shown && exit.Of(err) != exit.Aborted {
		return drive.Said(err) // what is shown has the reason
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
