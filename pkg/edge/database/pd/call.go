package pd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ask"
)

const (
	firstPause = 100 * time.Millisecond
	longPause  = time.Second
	// patience multiplies the time limit of an attempt, for calls in which PD asks all members in turn, three
	// seconds each.
	patience = 3
)

// call asks the leader, and repeats the request as long as the failure is transient. f must send one request.
func (c *client) call(ctx context.Context, op string, f func(context.Context, member) error) error {
	return c.callWithin(ctx, op, c.attempt, f)
}

func (c *client) callWithin(
	ctx context.Context, op string, attempt time.Duration, f func(context.Context, member) error,
) error {
	t, cancel := c.begin(ctx, op)
	defer cancel()
	for {
		err := c.ask(t.ctx, attempt, f)
		if err == nil {
			return nil
		}
		kind := kindOf(err)
		if kind == nil {
			return fmt.Errorf("%s: %w", op, err)
		}
		if err := t.pause(kind, err); err != nil {
			return err
		}
	}
}

// ask sends one request to the leader.
func (c *client) ask(ctx context.Context, attempt time.Duration, f func(context.Context, member) error) error {
	m, err := c.leaderMember(ctx)
	if err != nil {
		return err
	}
	actx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	if attempt > c.attempt {
		defer c.abandon(actx, cancel, m)()
	}
	err = f(actx, m)
	var status *StatusError
	if errors.As(err, &status) && status.notBootstrapped() {
		// Just after a leader change PD says this for about 0.2 s, although the cluster has stores.
		status.bootstrapped = c.isBootstrapped(actx, m)
	}
	if err != nil && kindOf(err) != nil {
		c.forget(m.url)
	}
	return err
}

// abandon cancels a slow request when its member does not confirm any more that it leads. Otherwise a leader that
// hangs would use up the whole time limit. The function that it returns ends this check.
func (c *client) abandon(ctx context.Context, cancel context.CancelFunc, m member) func() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(c.attempt)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			if leader, _, err := c.findLeader(ctx); err != nil || leader.url != m.url {
				cancel()
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// kindOf returns the kind of a transient failure, and nil for a final answer. A network error counts as transient,
// since all our requests may be repeated.
func kindOf(err error) error {
	var lost *lostError
	if errors.As(err, &lost) {
		return lost.kind
	}
	var status *StatusError
	if errors.As(err, &status) {
		if status.notBootstrapped() {
			return nil
		}
		return status.transient()
	}
	var decode *decodeError
	if errors.As(err, &decode) || errors.Is(err, ask.ErrTooLarge) {
		return nil
	}
	return ErrUnreachable
}

// isBootstrapped asks for what PD has stored, which exists before PD has loaded its cluster.
func (c *client) isBootstrapped(ctx context.Context, m member) bool {
	c.mu.Lock()
	known := c.bootstrapped
	c.mu.Unlock()
	if known {
		return true
	}
	type info struct {
		Bootstrapped time.Time `json:"raft_bootstrap_time"`
	}
	status, err := get[info](ctx, m, pathClusterStatus)
	if err != nil || status.Bootstrapped.Year() <= 1 {
		return false
	}
	c.setBootstrapped()
	return true
}

func (c *client) setBootstrapped() {
	c.mu.Lock()
	c.bootstrapped = true
	c.mu.Unlock()
}

// repeatedCall is one call of a Client method, with all its repeats.
type repeatedCall struct {
	op     string
	ctx    context.Context // the caller's, bounded by the budget
	caller context.Context
	start  time.Time
	next   time.Duration
	// short is true if there is time for at most one attempt: the caller then waits for an unreachable PD itself.
	short bool
}

func (c *client) begin(ctx context.Context, op string) (*repeatedCall, context.CancelFunc) {
	limit := c.budget
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline))
	}
	t := &repeatedCall{op: op, caller: ctx, start: time.Now(), next: firstPause, short: limit <= c.attempt}
	var cancel context.CancelFunc
	// Not with limit: where the caller's deadline is the earlier one, ctx must have ended when t.ctx has.
	t.ctx, cancel = context.WithTimeout(ctx, c.budget)
	return t, cancel
}

// pause waits before the next try, or returns the error that ends the turn.
func (t *repeatedCall) pause(kind, last error) error {
	if errors.Is(t.caller.Err(), context.Canceled) {
		return fmt.Errorf("%s: %w", t.op, t.caller.Err())
	}
	end := func() error {
		return &UnavailableError{Op: t.op, Kind: kind, Waited: time.Since(t.start), Last: last}
	}
	if t.ctx.Err() != nil {
		return end()
	}
	var lost *lostError
	//nolint:errorlint // not ErrLeaderUnreachable, which is an ErrUnreachable too: an election may end that
	if errors.As(last, &lost) && (lost.permanent || t.short && lost.kind == ErrUnreachable) {
		return end()
	}
	wait := t.next
	t.next = min(2*wait, longPause)
	if deadline, ok := t.ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return end()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-t.ctx.Done():
	}
	if errors.Is(t.caller.Err(), context.Canceled) {
		return fmt.Errorf("%s: %w", t.op, t.caller.Err())
	}
	return end()
}
