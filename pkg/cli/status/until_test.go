package status

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/wait"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// TestEnded: a wait ends with the state that is awaited; one for "converged" also where only a
// person can help, with the exit code of that.
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
			u := until{goal: goal}
			end := u.whyEnded(all[name])
			code, ends := want[goal]
			if ends != (end != nil) || ends && exit.Of(u.endError(end, nil)) != code {
				t.Errorf("%s, --for=%s: %v; ends %t with %d", name, goal, end, ends, code)
			}
		}
	}
}

// TestOutage: a wait goes on while the API server is away for some minutes. It ends at once where
// the cluster was never seen, and where waiting does not help.
func TestOutage(t *testing.T) {
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	away := errors.New("connection refused")
	u := until{goal: "converged"}
	if u.bearable(away, now) {
		t.Error("waits for a server that was never there")
	}
	if u.bearable(nil, now) || !u.bearable(away, now.Add(4*time.Minute)) || u.bearable(away, now.Add(6*time.Minute)) {
		t.Error("an outage of four minutes has to be borne, and one of six not")
	}
	if u.bearable(apierrors.NewForbidden(schema.GroupResource{}, "", nil), now) {
		t.Error("waits though it is forbidden")
	}
	gone := &intent.NotFoundError{}
	if u.bearable(gone, now) || exit.Of(u.outages.Lost(gone)) != exit.Aborted || exit.Of((&wait.Outages{}).Lost(gone)) != exit.Usage {
		t.Error("a cluster that was deleted is another case than a name that does not exist")
	}
	read := until{}
	if read.bearable(nil, now) || read.bearable(away, now) {
		t.Error("without --for nothing is awaited")
	}
}

// TestTimedOut: after a timeout the last look is shown.
func TestTimedOut(t *testing.T) {
	shown := 0
	show := func() error { shown++; return nil }
	u := until{goal: "converged", timeout: time.Minute}
	u.bearable(nil, time.Now())
	err := u.endError(exit.ErrTimedOut, show)
	if exit.Of(err) != exit.TimedOut || err.Error() != "timed out after 1m0s: the cluster is not converged" || shown != 1 {
		t.Errorf("%v, shown %d times", err, shown)
	}
	u.outages = wait.Outages{}
	if err := u.endError(exit.ErrTimedOut, show); exit.Of(err) != exit.TimedOut || shown != 1 {
		t.Errorf("%v, shown %d times: nothing was seen", err, shown)
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
