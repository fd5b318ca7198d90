package reconcile

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

func TestPacer(t *testing.T) {
	polls := plan.Plan{Gates: []plan.Gate{{Source: plan.FromDatabase}}}
	for name, tc := range map[string]struct {
		p    func(now time.Time) plan.Plan
		errs int // failed turns before
		want time.Duration
	}{
		"nothing that anybody reports": {want: longestPause},
		"a fact in the database":       {p: func(time.Time) plan.Plan { return polls }, want: pollInterval},
		"a deadline": {p: func(now time.Time) plan.Plan {
			return plan.Plan{Gates: []plan.Gate{{Deadline: now.Add(7 * time.Second)}}}
		}, want: 7 * time.Second},
		"a deadline that has passed": {p: func(now time.Time) plan.Plan {
			return plan.Plan{Gates: []plan.Gate{{Deadline: now.Add(-time.Second)}}}
		}, want: pollInterval},
		"a deadline that has passed, of a gate that is blocked": {p: func(now time.Time) plan.Plan {
			return plan.Plan{Gates: []plan.Gate{{Deadline: now.Add(-time.Second), Blocked: true}}}
		}, want: longestPause},
		"a failure":     {errs: 1, want: firstRetry},
		"two failures":  {errs: 2, want: 2 * firstRetry},
		"many failures": {errs: 20, want: lastRetry},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &Pacer{Now: time.Now, Wake: func(bool) {}}
				var next plan.Plan
				if tc.p != nil {
					next = tc.p(time.Now())
				}
				begun := time.Now()
				_ = p.Wait(context.Background(), next, nil)
				for range tc.errs {
					begun = time.Now()
					_ = p.Wait(context.Background(), next, errBroken)
				}
				if got := time.Since(begun); got != tc.want {
					t.Errorf("waited %s, want %s", got, tc.want)
				}
			})
		})
	}
}

func TestPacerWakesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nudges := make(chan struct{}, 1)
		nudges <- struct{}{}
		begun := time.Now()
		p := &Pacer{Now: time.Now, Nudges: nudges, Wake: func(bool) {}}
		if err := p.Wait(context.Background(), plan.Plan{}, nil); err != nil || time.Since(begun) != 0 {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errBroken)
		if err := p.Wait(ctx, plan.Plan{}, nil); !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
	})
}

// TestPacerSaysWhatIsTheSame: only after a pause in which nothing was reported, and a turn that wrote nothing.
func TestPacerSaysWhatIsTheSame(t *testing.T) {
	s := []step.Step{step.MoveLeader{}}
	for name, c := range map[string]struct {
		next  plan.Plan
		err   error
		nudge bool
		want  bool
	}{
		"a pause":              {want: true},
		"a change":             {nudge: true},
		"a step was taken":     {next: plan.Plan{Steps: s}},
		"a label was written":  {next: plan.Plan{Upkeep: s}},
		"the turn has failed":  {err: errBroken},
		"a step, and a change": {next: plan.Plan{Steps: s}, nudge: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nudges := make(chan struct{}, 1)
				if c.nudge {
					nudges <- struct{}{}
				}
				var got []bool
				p := &Pacer{Now: time.Now, Nudges: nudges, Wake: func(same bool) { got = append(got, same) }}
				_ = p.Wait(t.Context(), c.next, c.err)
				if len(got) != 1 || got[0] != c.want {
					t.Errorf("got %v, want %v", got, c.want)
				}
			})
		})
	}
}

// An hour of waiting without a change takes about a hundred turns, and a change is then seen as
// soon as before.
func TestPacerBacksOff(t *testing.T) {
	evicted := func(left string) plan.Plan {
		return plan.Plan{Outcome: plan.Wait, Gates: []plan.Gate{{Want: "region leaders evicted", Observed: left, Source: plan.FromDatabase}}}
	}
	synctest.Test(t, func(t *testing.T) {
		nudges := make(chan struct{}, 1)
		p := &Pacer{Now: time.Now, Nudges: nudges, Wake: func(bool) {}}
		wait := func(next plan.Plan) time.Duration {
			begun := time.Now()
			_ = p.Wait(t.Context(), next, nil)
			return time.Since(begun)
		}
		turns, begun := 0, time.Now()
		for ; time.Since(begun) < time.Hour; turns++ {
			took, idle := wait(evicted("5 left")), time.Since(begun)
			if took > max(pollInterval, idle/pollShare) || took > pollSlowest {
				t.Fatalf("waited %s after %s", took, idle)
			}
		}
		if turns > 800 || turns < 600 {
			t.Errorf("%d turns in an hour", turns)
		}
		if took := wait(evicted("4 left")); took != pollInterval {
			t.Errorf("waited %s after a change", took)
		}
		for range 100 {
			wait(evicted("4 left"))
		}
		nudges <- struct{}{}
		if took := wait(evicted("4 left")); took != 0 {
			t.Errorf("waited %s in spite of a nudge", took)
		}
		if took := wait(evicted("4 left")); took != pollInterval {
			t.Errorf("waited %s after a nudge", took)
		}
		late := evicted("4 left")
		late.Gates[0].Deadline = time.Now().Add(700 * time.Millisecond)
		for range 20 {
			wait(evicted("4 left"))
		}
		late.Gates[0].Deadline = time.Now().Add(700 * time.Millisecond)
		if took := wait(late); took != 700*time.Millisecond {
			t.Errorf("waited %s, past the deadline", took)
		}
	})
}
