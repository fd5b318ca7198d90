package reconcile

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

func evicting() *plantest.Cluster {
	return rest().Roll(topology.TiKV).Evicting("t-tikv-2", time.Minute, 5)
}

const allow = "allow region leaders on t-tikv-2"

func TestRun(t *testing.T) {
	s := &fakes{turns: []fakeTurn{{c: waiting4()}, {c: out()}, {c: rest()}}}
	p, err := Run(context.Background(), s.engine(), s)
	want := []string{
		"look", "record", "wait",
		"look", "scale TiDB from 2 to 3", "record", // and the next turn without a pause
		"look", "look live", "record",
	}
	if err != nil || p.Outcome != plan.Converged || !reflect.DeepEqual(s.log, want) {
		t.Errorf("got %s, %v, %q, want %q", p.Outcome, err, s.log, want)
	}
}

// A turn that fails is tried again after a pause, for some time.
func TestRunTriesAgain(t *testing.T) {
	s := &fakes{
		turns: []fakeTurn{{err: errBroken}, {c: out()}, {c: out()}, {c: rest()}},
		fail:  map[string][]error{"scale TiDB from 2 to 3": {errBroken}},
	}
	p, err := Run(context.Background(), s.engine(), s)
	want := []string{
		"look", "wait after: broken",
		"look", "scale TiDB from 2 to 3", "record", "wait after: scale TiDB from 2 to 3: broken",
		"look", "scale TiDB from 2 to 3", "record",
		"look", "look live", "record",
	}
	if err != nil || p.Outcome != plan.Converged || !reflect.DeepEqual(s.log, want) {
		t.Errorf("got %s, %v, %q, want %q", p.Outcome, err, s.log, want)
	}

	s = &fakes{turns: []fakeTurn{{err: errBroken}}}
	if _, err := Run(context.Background(), s.engine(), s); !errors.Is(err, errBroken) || s.waits != giveUp-1+undoAttempts-1 {
		t.Errorf("gave up after %d pauses: %v", s.waits, err)
	}
}

// A turn that succeeds begins the count again.
func TestRunCountsFailuresInARow(t *testing.T) {
	var shows []fakeTurn
	for range giveUp - 1 {
		shows = append(shows, fakeTurn{err: errBroken})
	}
	shows = append(append(shows, fakeTurn{c: waiting4()}), shows...)
	s := &fakes{turns: append(shows, fakeTurn{c: rest()})}
	if p, err := Run(context.Background(), s.engine(), s); err != nil || p.Outcome != plan.Converged {
		t.Errorf("got %s, %v", p.Outcome, err)
	}
}

type finalError struct{}

func (finalError) Error() string { return "forbidden" }
func (finalError) Final() bool   { return true }

func TestRunStopsAtFinalError(t *testing.T) {
	s := &fakes{turns: []fakeTurn{{c: out()}}, fail: map[string][]error{"scale TiDB from 2 to 3": {finalError{}}}}
	_, err := Run(context.Background(), s.engine(), s)
	if !errors.As(err, new(finalError)) || s.waits > 0 {
		t.Errorf("got %v after %d pauses", err, s.waits)
	}
}

// However a run ends before the cluster has converged, it takes back temporary changes.
func TestRunCleansUp(t *testing.T) {
	blocked := func() *plantest.Cluster { return evicting().Down(time.Hour, "t-tikv-0") }
	paused := func() *plantest.Cluster {
		c := evicting()
		c.Wanted.Cluster.Paused = true
		return c
	}
	for name, tc := range map[string]struct {
		c     *plantest.Cluster
		cause error
		want  bool
	}{
		"interrupted":  {c: evicting(), cause: errBroken, want: true},
		"blocked":      {c: blocked(), want: true},
		"pd-A9 paused": {c: paused()}, // then nothing is changed, not even this
		"converged":    {c: rest()},
		"handed over":  {c: evicting(), cause: handsOff{}},
		"the store is just restarting": {
			c: evicting().Rolled(topology.TiKV, 2).Down(time.Second, "t-tikv-2"), cause: errBroken, want: true,
		},
		"the store's pod cannot be scheduled": {
			c: evicting().Rolled(topology.TiKV, 2).Down(5*time.Minute, "t-tikv-2"), cause: errBroken, want: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(context.Background())
			s := &fakes{turns: []fakeTurn{{c: tc.c}}}
			s.did = func(step.Step) { tc.c.Seen.Evictions, tc.c.Member("t-tikv-2").Database.Evicting = nil, false }
			s.waited = func(int) error { cancel(tc.cause); return ctx.Err() }
			_, err := Run(ctx, s.engine(), s)
			if !errors.Is(err, tc.cause) {
				t.Errorf("got %v, want %v", err, tc.cause)
			}
			if got := strings.Contains(strings.Join(s.log, ", "), allow); got != tc.want {
				t.Errorf("cleaned up: %t, want %t: %q", got, tc.want, s.log)
			}
		})
	}
}

type handsOff struct{}

func (handsOff) Error() string  { return "the lease is lost" }
func (handsOff) HandsOff() bool { return true }

// An interrupt comes into effect after the step that is being taken.
func TestInterruptDuringStep(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	c := rest()
	c.Want(topology.PD).Services[0].Drift = desired.Differs
	c.Want(topology.TiKV).Services[0].Drift = desired.Differs
	s := &fakes{turns: []fakeTurn{{c: c}}}
	s.did = func(step.Step) { cancel(errBroken) }
	_, err := Run(ctx, s.engine(), s)
	want := []string{"look", "update Service t-pd-peer", "look live"}
	if !errors.Is(err, errBroken) || !reflect.DeepEqual(s.log, want) {
		t.Errorf("got %v, %q, want %q", err, s.log, want)
	}
	for _, e := range s.events {
		if e.Type == event.Failed {
			t.Errorf("reported a failure: %s", e.Error)
		}
	}
}

// interrupted runs an engine that is interrupted at its first pause while leaders are being
// evicted.
func interrupted(t *testing.T, s *fakes) error {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	s.turns = append(s.turns, fakeTurn{c: evicting()})
	s.waited = func(n int) error {
		if n == 1 {
			cancel(errStopped)
			return ctx.Err()
		}
		return nil
	}
	_, err := Run(ctx, s.engine(), s)
	return err
}

var errStopped = errors.New("interrupted")

// If the clean-up after an interrupt fails, the error names both, and says that something is left
// behind.
func TestCleanUpFails(t *testing.T) {
	fails := make([]error, undoAttempts)
	for i := range fails {
		fails[i] = errBroken
	}
	err := interrupted(t, &fakes{fail: map[string][]error{allow: fails}})
	if !errors.Is(err, errStopped) || !errors.Is(err, errBroken) || !errors.As(err, new(*UndoError)) {
		t.Errorf("got %v", err)
	}
}

func TestCleanUpIsTriedAgain(t *testing.T) {
	s := &fakes{fail: map[string][]error{allow: {errBroken, errBroken}}}
	if err := interrupted(t, s); !errors.Is(err, errStopped) || errors.As(err, new(*UndoError)) {
		t.Errorf("got %v, %q", err, s.log)
	}
}

// An observation that is cut short shows members as unknown that serve, so nothing of it is
// reported.
func TestInterruptDuringObservation(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := &fakes{turns: []fakeTurn{{c: rest().PDUnknown()}}}
	s.logged = func(string) { cancel(errStopped) }
	if _, err := Run(ctx, s.engine(), s); !errors.Is(err, errStopped) || len(s.events) > 0 {
		t.Errorf("got %v, events %v", err, s.events)
	}
}

// Paused means that nothing is written but the status, whatever there is to do.
func TestPaused(t *testing.T) {
	busy := func() *plantest.Cluster {
		c := evicting()
		c.Want(topology.TiDB).Replicas = 5
		c.Want(topology.PD).Suspend = true
		c.Wanted.Objects = []desired.Object{{Kind: "ConfigMap", Name: "t-discovery", Drift: desired.Differs}}
		return c
	}
	t.Run("pd-A9 a run begins", func(t *testing.T) {
		c := busy()
		c.Wanted.Cluster.Paused = true
		s := &fakes{turns: []fakeTurn{{c: c}}}
		p, err := Run(context.Background(), s.engine(), s)
		if want := []string{"look", "look live", "record", "look live"}; err != nil || p.Outcome != plan.Paused || !reflect.DeepEqual(s.log, want) {
			t.Errorf("got %s, %v, %q, want %q", p.Outcome, err, s.log, want)
		}
	})
	t.Run("pd-A9 between observing and acting", func(t *testing.T) {
		c := rest()
		c.Want(topology.TiDB).Replicas = 1
		paused := rest()
		paused.Wanted.Cluster.Paused = true
		s := &fakes{turns: []fakeTurn{{c: c}, {c: paused}}}
		p, err := Run(context.Background(), s.engine(), s)
		if want := []string{"look", "look live", "record", "look live"}; err != nil || p.Outcome != plan.Paused || !reflect.DeepEqual(s.log, want) {
			t.Errorf("got %s, %v, %q, want %q", p.Outcome, err, s.log, want)
		}
	})
}

// The clean-up waits, as long as there is time, until PD has loaded its schedulers. It tries that
// more often than a step that fails.
func TestUndoWaitsForSchedulers(t *testing.T) {
	unloaded := evicting()
	unloaded.Seen.PD.SchedulersUnknown = true
	s := &fakes{turns: []fakeTurn{{c: evicting()}}}
	for range 3 * undoAttempts {
		s.turns = append(s.turns, fakeTurn{c: unloaded})
	}
	if err := interrupted(t, s); !errors.Is(err, errStopped) || errors.As(err, new(*UndoError)) {
		t.Errorf("got %v", err)
	}
	if last := s.log[len(s.log)-1]; last != allow {
		t.Errorf("ended with %q", last)
	}
}

// A run reports at its end what others did in PD and it has not changed.
func TestFindingsAtTheEnd(t *testing.T) {
	c := rest()
	c.Member("t-tikv-0").Database.Evicting = true
	s := &fakes{turns: []fakeTurn{{c: c}}}
	e := s.engine()
	if _, err := Run(t.Context(), e, s); err != nil {
		t.Fatal(err)
	}
	e.Progress.Done(event.OutcomeConverged, 0, time.Second, nil)
	e.Progress.Done(event.OutcomeConverged, 0, time.Second, nil)
	var got []event.Event
	for _, ev := range s.events {
		if ev.Type == event.Notice || ev.Type == event.Done {
			got = append(got, ev)
		}
	}
	if len(got) != 3 || got[0].Member != "t-tikv-0" || got[0].Component != "tikv" || got[0].Help() == "" || got[1].Type != event.Done {
		t.Errorf("got %+v", got)
	}
}
