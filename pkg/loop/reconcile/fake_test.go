package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// fakes implements all interfaces of an Engine. It returns the observations one after the other,
// the last one for ever, and logs the calls.
type fakes struct {
	turns    []fakeTurn
	fail     map[string][]error // what a step returns, call by call
	did      func(step.Step)
	recorded error // what the write of the status returns
	waited   func(n int) error
	log      []string
	logged   func(string)
	events   []event.Event
	waits    int
	current  *plantest.Cluster
}

// fakeTurn is an answer to Observe.
type fakeTurn struct {
	c   *plantest.Cluster
	err error
}

var errBroken = errors.New("broken")

func (s *fakes) Observe(_ context.Context, live bool) (state.Observation, error) {
	how := "look"
	if live {
		how = "look live"
	}
	s.write(how)
	next := s.turns[0]
	if len(s.turns) > 1 {
		s.turns = s.turns[1:]
	}
	if next.err != nil {
		return state.Observation{}, next.err
	}
	s.current = next.c
	return state.Observation{Cluster: next.c.Wanted.Cluster, Snapshot: next.c.Seen}, nil
}

// want returns what is wanted in the last observation.
func (s *fakes) want(state.Observation) (desired.State, error) { return s.current.Wanted, nil }

func (s *fakes) Do(ctx context.Context, next step.Step) error {
	s.write(next.String())
	if s.did != nil {
		s.did(next)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("a step must not be cut short: %w", ctx.Err())
	}
	if errs := s.fail[next.String()]; len(errs) > 0 {
		s.fail[next.String()] = errs[1:]
		return errs[0]
	}
	return nil
}

func (s *fakes) Record(context.Context, state.Observation, desired.State, plan.Plan) error {
	s.write("record")
	return s.recorded
}

func (s *fakes) write(line string) {
	s.log = append(s.log, line)
	if s.logged != nil {
		s.logged(line)
	}
}

func (s *fakes) Report(e event.Event) { s.events = append(s.events, e) }

func (s *fakes) Wait(ctx context.Context, _ plan.Plan, err error) error {
	line := "wait"
	if err != nil {
		line += " after: " + err.Error()
	}
	s.write(line)
	s.waits++
	if s.waited != nil {
		if err := s.waited(s.waits); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (s *fakes) engine() Engine {
	now := func() time.Time { return plantest.Now }
	return Engine{
		Profiles: component.Profiles(), Observer: s, Want: s.want, Actor: s, Recorder: s,
		Progress: NewProgress("ns", "t", now, s),
	}
}
