package reconcile

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// term is a Lease that a test ends.
type term struct {
	ctx context.Context
	end context.CancelCauseFunc
}

func newTerm() term {
	ctx, end := context.WithCancelCause(context.Background())
	return term{ctx, end}
}

func (l term) Guard(context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(l.ctx)
}

// After a lease has ended nothing is written, wherever the run is by then: another process may
// drive.
func TestLeaseEnds(t *testing.T) {
	two := rest()
	two.Want(topology.PD).Services[0].Drift = desired.Differs
	two.Want(topology.TiKV).Services[0].Drift = desired.Differs
	for name, tc := range map[string]struct {
		c         *plantest.Cluster
		interrupt bool // while the run waits, and then it cleans up
		endsAt    string
		want      []string
	}{
		"before the first step": {c: two, endsAt: "look", want: []string{"look"}},
		"during a step":         {c: two, endsAt: "update Service t-pd-peer", want: []string{"look", "update Service t-pd-peer"}},
		"before the clean-up":   {c: evicting(), interrupt: true, endsAt: "wait", want: []string{"look", "record", "wait", "look live"}},
		"during the clean-up":   {c: evicting(), interrupt: true, endsAt: "look live", want: []string{"look", "record", "wait", "look live"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newTerm()
			ctx, cancel := context.WithCancelCause(context.Background())
			s := &fakes{turns: []fakeTurn{{c: tc.c}}}
			s.logged = func(line string) {
				if line == tc.endsAt {
					l.end(handsOff{})
				}
			}
			s.waited = func(int) error { cancel(errBroken); return ctx.Err() }
			e := s.engine()
			e.Lease = l
			_, err := Run(ctx, e, s)
			if !isHandsOff(err) || tc.interrupt != errors.Is(err, errBroken) || !reflect.DeepEqual(s.log, tc.want) {
				t.Errorf("got %v, %q, want %q", err, s.log, tc.want)
			}
		})
	}
}

// A step that is cut short by the end of the lease is not reported as failed: the run reports that
// the lease has ended.
func TestLeaseEndsWithAStep(t *testing.T) {
	l := newTerm()
	s := &fakes{turns: []fakeTurn{{c: out()}}, fail: map[string][]error{"scale TiDB from 2 to 3": {errBroken}}}
	s.did = func(step.Step) { l.end(handsOff{}) }
	e := s.engine()
	e.Lease = l
	if _, err := e.Once(context.Background()); !errors.As(err, new(handsOff)) || errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
	for _, e := range s.events {
		if e.Type == event.Failed && e.Error != (handsOff{}).Error() {
			t.Errorf("reported %q", e.Error)
		}
	}
}
