package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan/plantest"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
)

// stage is everything around an Engine: it answers observations one after the
// other, the last one for ever, and writes down what happens.
type stage struct {
	shows  []show
	fail   map[string][]error // what a step answers, time after time
	did    func(plan.Step)
	waited func(n int) error
	log    []string
	logged func(string)
	events []event.Event
	waits  int
	shown  *plantest.Cluster
}

// show is an answer to Observe.
type show struct {
	c   *plantest.Cluster
	err error
}

var errBroken = errors.New("broken")

func (s *stage) Observe(_ context.Context, live bool) (state.Observation, error) {
	how := "look"
	if live {
		how = "look live"
	}
	s.write(how)
	next := s.shows[0]
	if len(s.shows) > 1 {
		s.shows = s.shows[1:]
	}
	if next.err != nil {
		return state.Observation{}, next.err
	}
	s.shown = next.c
	return state.Observation{Cluster: next.c.Wanted.Cluster, Snapshot: next.c.Seen}, nil
}

// want is what is wanted in the show that was looked at last.
func (s *stage) want(state.Observation) (plan.Wanted, error) { return s.shown.Wanted, nil }

func (s *stage) Do(ctx context.Context, step plan.Step) error {
	s.write(step.String())
	if s.did != nil {
		s.did(step)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("a step must not be cut short: %w", ctx.Err())
	}
	if errs := s.fail[step.String()]; len(errs) > 0 {
		s.fail[step.String()] = errs[1:]
		return errs[0]
	}
	return nil
}

func (s *stage) Record(context.Context, state.Observation, plan.Wanted, plan.Plan) error {
	s.write("record")
	return nil
}

func (s *stage) write(line string) {
	s.log = append(s.log, line)
	if s.logged != nil {
		s.logged(line)
	}
}

func (s *stage) Report(e event.Event) { s.events = append(s.events, e) }

func (s *stage) Wait(ctx context.Context, _ plan.Plan, err error) error {
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

func (s *stage) engine() Engine {
	now := func() time.Time { return plantest.Now }
	return Engine{
		Profiles: component.Profiles(), Observer: s, Want: s.want, Actor: s, Recorder: s,
		Story: NewStory("ns", "t", now, s),
	}
}
