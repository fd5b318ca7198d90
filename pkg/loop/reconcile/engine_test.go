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

func rest() *plantest.Cluster { return plantest.New(3, 3, 2) }

func waiting4() *plantest.Cluster { return rest().Down(time.Minute, "t-tidb-0") }

func out() *plantest.Cluster {
	c := rest()
	c.Want(topology.TiDB).Replicas = 3
	return c
}

func rolling() *plantest.Cluster { return rest().Roll(topology.TiDB) }

func TestOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		shows []fakeTurn
		want  string // what happens
		end   plan.Outcome
	}{
		"waits":                           {[]fakeTurn{{c: waiting4()}}, "look, record", plan.Wait},
		"takes a step that disturbs none": {[]fakeTurn{{c: out()}}, "look, scale TiDB from 2 to 3, record", plan.Act},
		"looks again before it disturbs":  {[]fakeTurn{{c: rolling()}}, "look, look live, restart t-tidb-1, record", plan.Act},
		"decides again on what it sees": {
			[]fakeTurn{{c: rolling()}, {c: rolling().Down(time.Minute, "t-tidb-0")}},
			"look, look live, record", plan.Wait,
		},
		"looks again before it is content": {[]fakeTurn{{c: rest()}}, "look, look live, record", plan.Converged},
		"is not content with a cache":      {[]fakeTurn{{c: rest()}, {c: out()}}, "look, look live, scale TiDB from 2 to 3, record", plan.Act},
		"does nothing while paused": {[]fakeTurn{{c: func() *plantest.Cluster {
			c := rolling()
			c.Wanted.Cluster.Paused = true
			return c
		}()}}, "look, look live, record", plan.Paused},
		"does not end for what a cache shows": {
			[]fakeTurn{{c: rest().Down(time.Hour, "t-tikv-0")}, {c: out()}}, "look, look live, scale TiDB from 2 to 3, record", plan.Act,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &fakes{turns: tc.shows}
			p, err := s.engine().Once(context.Background())
			if got := strings.Join(s.log, ", "); err != nil || got != tc.want || p.Outcome != tc.end {
				t.Errorf("got %s: %q, %v; want %s: %q", p.Outcome, got, err, tc.end, tc.want)
			}
		})
	}
}

func TestOnceFails(t *testing.T) {
	s := &fakes{turns: []fakeTurn{{err: errBroken}}}
	if _, err := s.engine().Once(context.Background()); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
	s = &fakes{turns: []fakeTurn{{c: rolling()}, {err: errBroken}}}
	if _, err := s.engine().Once(context.Background()); !errors.Is(err, errBroken) || len(s.log) != 2 {
		t.Errorf("got %v, %q", err, s.log)
	}
}

// A step that fails holds back the later steps of its component, and no others.
func TestFailedStep(t *testing.T) {
	c := out()
	c.Want(topology.PD).Services[0].Drift = desired.Differs
	c.Want(topology.TiKV).Services[0].Drift = desired.Differs
	c.Evicting("t-tikv-0", time.Minute, 0)
	s := &fakes{turns: []fakeTurn{{c: c}}, fail: map[string][]error{"update Service t-tikv-peer": {errBroken}}}
	_, err := s.engine().Once(context.Background())
	want := []string{
		"look", "update Service t-pd-peer", "update Service t-tikv-peer", "scale TiDB from 2 to 3", "record",
	}
	if !errors.Is(err, errBroken) || !reflect.DeepEqual(s.log, want) {
		t.Errorf("got %q, %v, want %q", s.log, err, want)
	}

	c = out()
	c.Wanted.Objects = []desired.Object{{Kind: "ConfigMap", Name: "t-discovery", Drift: desired.Differs}}
	s = &fakes{turns: []fakeTurn{{c: c}}, fail: map[string][]error{"update ConfigMap t-discovery": {errBroken}}}
	if _, err = s.engine().Once(context.Background()); !errors.Is(err, errBroken) || len(s.log) != 3 {
		t.Errorf("got %q, %v: everything may depend on what the cluster needs as a whole", s.log, err)
	}
}

// TestOldDecision: a step took long, or the process stood still during the step. The later steps of the decision are
// not begun, and the next turn decides again.
func TestOldDecision(t *testing.T) {
	for took, want := range map[time.Duration]string{
		time.Minute:               "look, update Service t-pd-peer, scale TiDB from 2 to 3, record",
		time.Minute + time.Second: "look, update Service t-pd-peer, record",
	} {
		c := out()
		c.Want(topology.PD).Services[0].Drift = desired.Differs
		s := &fakes{turns: []fakeTurn{{c: c}}}
		e, now := s.engine(), plantest.Now
		e.Progress.now = func() time.Time { return now }
		s.did = func(step.Step) { now = now.Add(took) }
		_, err := e.Once(t.Context())
		if got := strings.Join(s.log, ", "); err != nil || got != want {
			t.Errorf("after a step of %s: got %q, %v; want %q", took, got, err, want)
		}
	}
}

// A step that always fails for one component does not delay another component, and is tried again.
func TestFailureDelaysNoOtherComponent(t *testing.T) {
	const fails, other = "restart t-pd-2", "scale TiDB from 2 to 1"
	both := func() *plantest.Cluster {
		c := rest().Roll(topology.PD)
		c.Want(topology.TiDB).Replicas = 1
		return c
	}
	s := &fakes{turns: []fakeTurn{{c: both()}}, fail: map[string][]error{}}
	for range giveUp {
		s.fail[fails] = append(s.fail[fails], errBroken)
	}
	s.did = func(next step.Step) {
		if next.String() == other {
			s.turns = []fakeTurn{{c: rest().Roll(topology.PD)}} // its steps were taken
		}
	}
	s.waited = func(n int) error {
		if n == 3 {
			return errStopped
		}
		return nil
	}
	_, _ = Run(t.Context(), s.engine(), s)
	var took []string
	for _, line := range s.log {
		if line == fails || line == other {
			took = append(took, line)
		}
	}
	if want := []string{fails, other, fails, fails}; !reflect.DeepEqual(took, want) {
		t.Errorf("got %q, want %q", took, want)
	}
}

// A step that is held back by one that failed is reported.
func TestHeldBackIsReported(t *testing.T) {
	c := rest()
	c.Want(topology.PD).Services[0].Drift = desired.Differs
	c.Want(topology.PD).Services = append(c.Want(topology.PD).Services, desired.Object{Kind: "Service", Name: "t-pd", Drift: desired.Differs})
	s := &fakes{turns: []fakeTurn{{c: c}}, fail: map[string][]error{"update Service t-pd-peer": {errBroken, errBroken}}}
	e := s.engine()
	for range 2 {
		_, _ = e.Once(t.Context())
	}
	var got []string
	for _, ev := range s.events {
		if ev.Type == event.Notice {
			got = append(got, ev.Message)
		}
	}
	if want := []string{`"update Service t-pd" is held back, since "update Service t-pd-peer" failed, which comes before it`}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestStatusNotWritten: a status that could not be written is worth a notice, unless the run was ended meanwhile.
func TestStatusNotWritten(t *testing.T) {
	for ended, want := range map[bool]int{false: 1, true: 0} {
		ctx, end := context.WithCancel(t.Context())
		s := &fakes{turns: []fakeTurn{{c: out()}}, recorded: errBroken}
		s.logged = func(line string) {
			if line == "record" && ended {
				end()
			}
		}
		if _, err := s.engine().Once(ctx); err != nil {
			t.Errorf("ended %t: %v", ended, err)
		}
		end()
		notices := 0
		for _, ev := range s.events {
			if ev.Type == event.Notice && ev.Reason == string(event.StatusNotWritten) {
				notices++
			}
		}
		if notices != want {
			t.Errorf("ended %t: %d notices, want %d", ended, notices, want)
		}
	}
}

// A follower observes and reports, and changes nothing.
func TestFollow(t *testing.T) {
	s := &fakes{turns: []fakeTurn{{c: rolling()}, {c: rolling()}, {c: out()}, {c: rest()}}}
	e := s.engine()
	e.Actor, e.Recorder = nil, nil
	p, err := Run(context.Background(), e, s)
	want := []string{"look", "look live", "wait", "look", "wait", "look", "look live"}
	if err != nil || p.Outcome != plan.Converged || !reflect.DeepEqual(s.log, want) {
		t.Errorf("got %s, %v, %q, want %q", p.Outcome, err, s.log, want)
	}
}
