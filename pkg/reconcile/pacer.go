package reconcile

import (
	"context"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
)

const (
	// pollInterval is how often a fact is asked for that nobody reports: one
	// in PD, TiKV or TiDB. Only while such a fact is awaited is anything polled.
	// Where nothing moves it is asked for less often, down to pollSlowest, since some
	// waits take hours: the pause is a pollShare of the time in which nothing moved.
	pollInterval = 500 * time.Millisecond
	pollSlowest  = 5 * time.Second
	pollShare    = 10
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

	pauses Pauses
	retry  time.Duration
}

// Wait implements Waiter.
func (p *Pacer) Wait(ctx context.Context, next plan.Plan, err error) error {
	if err != nil {
		p.retry = min(max(2*p.retry, firstRetry), lastRetry)
		return sleep(ctx, p.retry, nil)
	}
	p.retry = 0
	return sleep(ctx, p.pauses.After(next, p.Now(), lookAgain), p.Nudges)
}

// Pauses says how long plans may be left alone, one after the other. It remembers
// since when nothing has moved: neither what is waited for nor, as far as the turn
// came early, anything in Kubernetes.
type Pauses struct {
	waits []plan.Gate
	since time.Time // when something moved last
	due   time.Time // when the next turn is to come if nothing happens before
}

// After is how long a plan may be left alone when nothing changes in Kubernetes: a
// moment while something outside of it is awaited, until the moment when time alone
// changes the decision, and no longer than most.
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
	default: // it has just passed; without a pause nothing but this would be done
		most = min(most, pollInterval)
	}
	s.due = now.Add(most)
	return most
}

// sameWait reports whether nothing has moved between two looks at a gate.
func sameWait(a, b plan.Gate) bool {
	return a.Key() == b.Key() && a.Observed == b.Observed && a.Blocked == b.Blocked
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
