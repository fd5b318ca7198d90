package status

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// errGoesOn is that a wait goes on after what was looked at.
var errGoesOn = errors.New("it goes on")

// awaited returns how a wait ends whose looks are these. The last one is followed by the error.
func awaited(t *testing.T, u until, to screen, end error, looks ...any) error {
	t.Helper()
	l := u.loop()
	l.Now = time.Now
	l.Pause = func(context.Context, plan.Plan, error) error {
		if len(looks) == 0 {
			return end
		}
		return nil
	}
	return u.await(t.Context(), l, func(context.Context) (sight, error) {
		next := looks[0]
		looks = looks[1:]
		if err, failed := next.(error); failed {
			return sight{}, err
		}
		return next.(sight), nil
	}, to)
}

// TestEnded: a wait ends with the state that is awaited; one for "converged" also where only a
// person can help, with the exit code of that. What it ends with is shown, and the reason is among that.
func TestEnded(t *testing.T) {
	all := cases()
	for name, want := range map[string]map[string]exit.Code{ // goes on, where nothing is said
		"at-rest":   {"converged": exit.OK},
		"suspended": {"converged": exit.OK},
		"to-do":     {},
		"driven":    {},
		"blocked":   {"converged": exit.Refused, "blocked": exit.OK},
		"paused":    {"converged": exit.Paused, "paused": exit.OK},
		"deleting":  {"converged": exit.Aborted},
	} {
		for _, goal := range append(goals, "") {
			shown := 0
			err := awaited(t, until{goal: goal}, screen{print: func(sight, io.Writer) error { shown++; return nil }}, errGoesOn, all[name])
			code, ends := want[goal]
			if ends == errors.Is(err, errGoesOn) || ends && exit.Of(err) != code || ends != (shown == 1) {
				t.Errorf("%s, --for=%s: %v, shown %d times; ends %t with %d", name, goal, err, shown, ends, code)
			}
			if err != nil && ends && (err.Error() == "") != (name != "deleting") {
				t.Errorf("%s, --for=%s: says %q", name, goal, err)
			}
		}
	}
}

// TestOutage: a wait bears that the API server is away. Without --for nothing is awaited.
func TestOutage(t *testing.T) {
	away, rest := errors.New("connection refused"), cases()["at-rest"]
	quiet := screen{print: func(sight, io.Writer) error { return nil }}
	if err := awaited(t, until{goal: "blocked"}, quiet, errGoesOn, rest, away, away); !errors.Is(err, errGoesOn) {
		t.Errorf("--for: %v", err)
	}
	if err := awaited(t, until{}, quiet, errGoesOn, rest, away); !errors.Is(err, away) {
		t.Errorf("without --for: %v", err)
	}
	if err := awaited(t, until{}, quiet, errGoesOn, rest, &intent.NotFoundError{}); exit.Of(err) != exit.Aborted {
		t.Errorf("deleted: %v", err)
	}
}

// TestTimedOut: after a timeout the last look is shown.
func TestTimedOut(t *testing.T) {
	shown := 0
	to := screen{print: func(sight, io.Writer) error { shown++; return nil }}
	u := until{goal: "converged", timeout: time.Minute}
	err := awaited(t, u, to, exit.ErrTimedOut, cases()["to-do"])
	if exit.Of(err) != exit.TimedOut || err.Error() != "timed out after 1m0s: the cluster is not converged" || shown != 1 {
		t.Errorf("%v, shown %d times", err, shown)
	}
	if err := awaited(t, u, to, nil, exit.ErrTimedOut); exit.Of(err) != exit.TimedOut || shown != 1 {
		t.Errorf("%v, shown %d times: nothing was seen", err, shown)
	}
}

// TestWatched: with -w each look is shown that says something new, and the last one in any case.
func TestWatched(t *testing.T) {
	all := cases()
	var out bytes.Buffer
	to := screen{Screen: output.Screen{Out: &out}, all: true, print: func(s sight, to io.Writer) error {
		_, err := fmt.Fprintln(to, s.plan.Outcome)
		return err
	}}
	err := awaited(t, until{goal: "converged"}, to, errGoesOn, all["to-do"], all["to-do"], all["at-rest"])
	if err != nil || out.String() != "act\nconverged\n" {
		t.Errorf("%v: %q", err, out.String())
	}
	out.Reset()
	if err := awaited(t, until{}, to, exit.ErrInterrupted, all["to-do"], all["at-rest"]); !errors.Is(err, exit.ErrInterrupted) || out.String() != "act\nconverged\n" {
		t.Errorf("%v: %q", err, out.String())
	}
	out.Reset()
	broken := all["blocked"]
	broken.unreadable = exit.Refusef("malformed")
	if err := awaited(t, until{}, to, errGoesOn, broken); exit.Of(err) != exit.Refused || err.Error() != "" || out.String() != "blocked\n" {
		t.Errorf("%v: %q", err, out.String())
	}
}

func TestFlags(t *testing.T) {
	f := factory.New(genericiooptions.NewTestIOStreamsDiscard(), func(string) string { return "" }, "")
	for args, says := range map[string]string{
		"basic --for=converged --timeout 30m": "",
		"basic -w --for blocked":              "",
		"--for=paused -o name":                "",
		"basic --for=ready":                   "one of converged, blocked, paused, canary; for a condition: kubectl wait",
		"basic --for=":                        "one of converged",
		"basic --timeout 30m":                 "--timeout goes with --for",
		"basic --for=converged --timeout=-1s": "must not be negative",
	} {
		ran := false
		cmd := command(f, func(context.Context, options) error { ran = true; return nil })
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetOut(io.Discard)
		cmd.SetArgs(strings.Fields(args))
		err := cmd.Execute()
		if ran != (says == "") || err != nil && (exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: ran %t, %v; want %q", args, ran, err, says)
		}
	}
}
