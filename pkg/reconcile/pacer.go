package reconcile

import (
	"context"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
)

const (
	// pollInterval is how often a fact is asked for that nobody reports: one
	// in PD, TiKV or TiDB. Only while such a fact is awaited is anything polled.
	pollInterval = 500 * time.Millisecond
	// lookAgain bounds how long a missed change in Kubernetes can go unseen.
	lookAgain = 30 * time.Second
	// firstRetry and lastRetry bound the pause after a failed turn.
	firstRetry, lastRetry = 250 * time.Millisecond, 5 * time.Second
)

// Pacer paces a foreground run: it wakes up at once when something changes in
// Kubernetes, soon when something outside of it is awaited, and at the moment
// when time alone changes the decision.
type Pacer struct {
	Nudges <-chan struct{}
	Now    func() time.Time

	retry time.Duration
}

// Wait implements Waiter.
func (p *Pacer) Wait(ctx context.Context, next plan.Plan, err error) error {
	if err != nil {
		p.retry = min(max(2*p.retry, firstRetry), lastRetry)
		return sleep(ctx, p.retry, nil)
	}
	p.retry = 0
	return sleep(ctx, Pause(next, p.Now(), lookAgain), p.Nudges)
}

// Pause is how long a plan may be left alone when nothing changes in Kubernetes:
// a moment while something outside of it is awaited, until the moment when time
// alone changes the decision, and no longer than most.
func Pause(p plan.Plan, now time.Time, most time.Duration) time.Duration {
	if p.Polls() {
		most = min(most, pollInterval)
	}
	if d := p.Deadline(); !d.IsZero() {
		most = max(min(most, d.Sub(now)), 0)
	}
	return most
}

func sleep(ctx context.Context, d time.Duration, nudges <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
	case <-nudges:
	}
	return nil
}
