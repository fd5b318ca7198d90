package contexts

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
)

// TestEnded: the exit code is that of the worst context, and what could not be read is worse than what was.
func TestEnded(t *testing.T) {
	failed := errors.New("connection refused")
	for _, c := range []struct {
		name string
		errs []error
		code exit.Code
		says string
	}{
		{"all good", []error{nil, nil}, exit.OK, ""},
		{"one to mend", []error{nil, exit.With(exit.Pending, nil)}, exit.Pending, ""},
		{"one unread", []error{exit.With(exit.Pending, nil), failed, exit.Refusef("blocked")}, exit.Failure, "context b: connection refused\ncontext c: blocked\nnot everything could be read in 1 of 3 contexts: b"},
		{"one blocked", []error{exit.With(exit.Paused, nil), exit.Refusef("blocked"), exit.Usagef("no such cluster")}, exit.Usage, "context b: blocked\ncontext c: no such cluster"},
		{"one forbidden", []error{exit.Refusef("blocked"), exit.With(exit.Forbidden, errors.New("no role"))}, exit.Forbidden, "context a: blocked\ncontext b: no role\nnot everything could be read in 1 of 2 contexts: b"},
		{"two lines", []error{nil, errors.New("one\ntwo")}, exit.Failure, "context b: one two\nnot everything could be read in 1 of 2 contexts: b"},
	} {
		var all []Result[int]
		for i, err := range c.errs {
			all = append(all, Result[int]{Context: string(rune('a' + i)), Err: err})
		}
		got := Ended(all)
		text := ""
		if got != nil {
			text = got.Error()
		}
		if exit.Of(got) != c.code || text != c.says {
			t.Errorf("%s: exit code %d, want %d; %q, want %q", c.name, exit.Of(got), c.code, text, c.says)
		}
	}
	if err := Ended([]Result[int]{{Err: failed}}); !errors.Is(err, failed) {
		t.Errorf("without the flag: %v", err)
	}
}

// TestCredentials: a program for credentials that waits for a person holds nothing back. A context whose API server has
// answered may take long.
func TestCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := factory.New(genericiooptions.NewTestIOStreamsDiscard(), func(string) string { return "" }, "")
		over := make(chan struct{})
		defer close(over)
		begun := time.Now()
		r := readContext(t.Context(), f, "a", func(context.Context, *factory.Factory) (int, error) { <-over; return 1, nil })
		if !r.Unknown() || !strings.Contains(r.Reason(), "credentials") || time.Since(begun) > 2*answerWithin {
			t.Errorf("%+v after %s", r, time.Since(begun))
		}
	})
}
