package reconcile

import (
	"context"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
)

const (
	// pollInterval is how often PD, TiKV or TiDB is asked for a fact that a gate waits for, since they report
	// nothing by themselves. As long as the fact does not change it is asked for less often, up to pollSlowest,
	// since some waits take hours. The pause is a pollShare of the time without a change.
	pollInterval = 500 * time.Millisecond
	pollSlowest  = 5 * time.Second
	pollShare    = 10
	// longestPause bounds the pause in which nothing happens.
	longestPause = 30 * time.Second
	// firstRetry and lastRetry bound the pause after a failed turn.
	firstRetry, lastRetry = 250 * time.Millisecond, 5 * time.Second
)

// Pacer waits between the turns of a foreground run until something changes in Kubernetes. It waits for a short time
// when the run waits for PD, TiKV or TiDB, and no longer than until the next deadline.
type Pacer struct {
	Nudges <-chan struct{}
	Now    func() time.Time
	// Wake is told before each turn whether nothing has changed in Kubernetes since
	// the one before: nothing was reported, and that turn has written nothing.
	Wake func(same bool)

	pauses Pauses
	retry  time.Duration
}

// Wait implements Waiter.
func (p *Pacer) Wait(ctx context.Context, next plan.Plan, err error) error {
	if err != nil {
		p.retry = min(max(2*p.retry, firstRetry), lastRetry)
		p.Wake(false)
		sleep(ctx, p.retry, nil)
		return context.Cause(ctx)
	}
	p.retry = 0
	nudged := sleep(ctx, p.pauses.After(next, p.Now(), longestPause), p.Nudges)
	p.Wake(!nudged && len(next.Steps) == 0 && len(next.Upkeep) == 0)
	return context.Cause(ctx)
}

// Pauses works out the pause after each plan. It remembers since when nothing has
// changed: neither the gates nor, as far as a turn came early, anything in
// Kubernetes.
type Pauses struct {
	waits []plan.Gate
	since time.Time // when something changed last
	due   time.Time // when the next turn is due if nothing happens before
}

// After returns the pause after a plan if nothing changes in Kubernetes. The pause is short while a gate waits for
// PD, TiKV or TiDB. It is no longer than until the next deadline, and no longer than most.
func (s *Pauses) After(p plan.Plan, now time.Time, most time.Duration) time.Duration {
	if s.since.IsZero() || now.Before(s.due) || !slices.EqualFunc(s.waits, p.Gates, sameWait) {
		s.since = now
	}
	s.waits = p.Gates
	if p.Polls() {
		most = min(most, max(pollInterval, min(now.Sub(s.since)/pollShare, pollSlowest)))
	}
	switch left := p.Deadline().Sub(now); {
	case p.Deadline().IsZero():
	case left > 0:
		most = min(most, left)
	default: // it has just passed; without a pause turns would follow each other without an end
		most = min(most, pollInterval)
	}
	s.due = now.Add(most)
	return most
}

// sameWait reports whether a gate has not changed between two observations.
func sameWait(a, b plan.Gate) bool {
	return a.Key() == b.Key() && a.Observed == b.Observed && a.Blocked == b.Blocked
}

// sleep reports whether a nudge has ended it.
func sleep(ctx context.Context, d time.Duration, nudges <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-nudges:
		return true
	}
	return false
}
