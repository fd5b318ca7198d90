package drive

import (
	"context"
	"errors"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

func TestConclude(t *testing.T) {
	broken := errors.New("broken")
	at, paused := plan.Plan{}, plan.Plan{Outcome: plan.Paused}
	stuck := plan.Plan{Outcome: plan.Blocked, Gates: []plan.Gate{{Reason: plan.PDServing}, {Reason: plan.UpdateAllowed, Blocked: true, Remedy: remedy.Remedy{remedy.Say("do it")}}}}
	for _, c := range []struct {
		name    string
		plan    plan.Plan
		err     error
		code    exit.Code
		outcome string
	}{
		{"converged", at, nil, exit.OK, "converged"},
		{"blocked", stuck, nil, exit.Refused, "blocked"},
		{"paused", paused, nil, exit.Paused, "paused"},
		{"broken", at, broken, exit.Failure, "failed"},
		{"deleted during the run", at, &intent.NotFoundError{Err: broken}, exit.Aborted, "aborted"},
		{"interrupted", stuck, exit.ErrInterrupted, exit.Interrupted, "interrupted"},
		{"timed out", at, exit.ErrTimedOut, exit.TimedOut, "timedOut"},
	} {
		err := conclude(c.plan, c.err)
		if got := exit.Of(err); got != c.code || outcomes[got] != c.outcome {
			t.Errorf("%s: exit code %d (%s), want %d (%s): %v", c.name, got, outcomes[got], c.code, c.outcome, err)
		}
		if again := Said(err); exit.Of(again) != c.code || again != nil && again.Error() != "" {
			t.Errorf("%s: said twice: %v", c.name, again)
		}
	}
}

// unread is an Actor of a cluster that cannot be read, so that nothing can be taken back either.
type unread struct{ reconcile.Actor }

func (unread) Observe(context.Context, bool) (state.Observation, error) {
	return state.Observation{}, errors.New("broken")
}

// TestLeftBehind: an error about changes that could not be taken back also says why the run ended.
func TestLeftBehind(t *testing.T) {
	left := reconcile.Engine{Observer: unread{}, Actor: unread{}}.Undo(t.Context())
	const broken = "temporary changes in PD could not be taken back, and stay recorded in the cluster: broken"
	stuck := plan.Plan{Outcome: plan.Blocked, Gates: []plan.Gate{{Reason: plan.UpdateAllowed, Blocked: true, Remedy: remedy.Remedy{remedy.Say("do it")}}}}
	for _, c := range []struct {
		name string
		plan plan.Plan
		err  error
		want string
	}{
		{"blocked", stuck, errors.Join(left), "update rejected\n" + broken},
		{"paused", plan.Plan{Outcome: plan.Paused}, errors.Join(left), "the cluster is paused: spec.paused is set, and it is not known by whom\n" + broken},
		{"under way", plan.Plan{Outcome: plan.Wait}, errors.Join(left), broken},
		{"interrupted", plan.Plan{Outcome: plan.Wait}, errors.Join(exit.ErrInterrupted, left), "interrupted\n" + broken},
	} {
		if err := conclude(c.plan, c.err); exit.Of(err) != exit.Failure || err.Error() != c.want {
			t.Errorf("%s: exit code %d, %q, want %q", c.name, exit.Of(err), err, c.want)
		}
	}
}

// TestOutcomes: every exit code has an outcome.
func TestOutcomes(t *testing.T) {
	words := map[string]bool{}
	for _, code := range []exit.Code{0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 130} {
		word := outcomes[code]
		if word == "" || words[word] {
			t.Errorf("exit code %d is %q", code, word)
		}
		words[word] = true
	}
}

// TestNoWayBackNamed: the end of a run that a user has asked for, or that nothing was written by, names
// no way back, and asks nobody for one: a session that connects to nothing is enough.
func TestNoWayBackNamed(t *testing.T) {
	asked := new(v1alpha1.TidbCluster)
	for name, tt := range map[string]struct {
		asked *v1alpha1.TidbCluster
		err   error
	}{
		"nothing was written": {nil, exit.Refusef("blocked")},
		"interrupted":         {asked, exit.ErrInterrupted},
		"paused":              {asked, exit.With(exit.Paused, errors.New("paused"))},
		"another drives":      {asked, exit.With(exit.Held, errors.New("held"))},
	} {
		if got := withWayBack(t.Context(), new(target.Session), tt.asked, tt.err); !errors.Is(got, tt.err) || got.Error() != tt.err.Error() {
			t.Errorf("%s: %v", name, got)
		}
	}
	if err := withWayBack(t.Context(), new(target.Session), asked, nil); err != nil {
		t.Errorf("converged: %v", err)
	}
}
