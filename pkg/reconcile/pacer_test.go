package reconcile

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
)

func TestPacer(t *testing.T) {
	polls := plan.Plan{Gates: []plan.Gate{{Source: plan.FromDatabase}}}
	for name, tc := range map[string]struct {
		p    func(now time.Time) plan.Plan
		errs int // failed turns before
		want time.Duration
	}{
		"nothing that anybody reports": {want: lookAgain},
		"a fact in the database":       {p: func(time.Time) plan.Plan { return polls }, want: pollInterval},
		"a deadline": {p: func(now time.Time) plan.Plan {
			return plan.Plan{Gates: []plan.Gate{{Deadline: now.Add(7 * time.Second)}}}
		}, want: 7 * time.Second},
		"a deadline that has passed": {p: func(now time.Time) plan.Plan {
			return plan.Plan{Gates: []plan.Gate{{Deadline: now.Add(-time.Second)}}}
		}, want: 0},
		"a failure":     {errs: 1, want: firstRetry},
		"two failures":  {errs: 2, want: 2 * firstRetry},
		"many failures": {errs: 20, want: lastRetry},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &Pacer{Now: time.Now}
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
		p := &Pacer{Now: time.Now, Nudges: nudges}
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
