package reconcile

import (
	"errors"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// passing makes each pause last a minute, and then returns the same cluster a minute later.
func passing(s *fakes, c *plantest.Cluster) {
	s.waited = func(int) error { c.Seen.At = c.Seen.At.Add(time.Minute); return nil }
}

// unseen is a cluster whose StatefulSet controller does nothing.
func unseen() *plantest.Cluster {
	return rest().Set(topology.TiDB, func(s *state.Set) { s.Observed = false })
}

// A wait for which the cluster has no time ends after ten minutes without progress, and then the
// run says what to do.
func TestRunEndsWithoutProgress(t *testing.T) {
	c := unseen()
	s := &fakes{turns: []fakeTurn{{c: c}}}
	passing(s, c)
	p, err := Run(t.Context(), s.engine(), s)
	if err != nil || p.Outcome != plan.Blocked || s.waits != 10 || p.Gates[0].Remedy == nil {
		t.Errorf("got %s, %v after %d pauses, %+v", p.Outcome, err, s.waits, p.Gates)
	}
}

// The time of an outage does not count as time without progress.
func TestOutageIsNoTimeWithoutProgress(t *testing.T) {
	c := unseen()
	s := &fakes{turns: []fakeTurn{{c: c}}}
	s.waited = func(n int) error {
		c.Seen.At = c.Seen.At.Add(time.Minute)
		if n == 9 {
			c.Seen.At = c.Seen.At.Add(time.Hour)
		}
		return nil
	}
	if p, err := Run(t.Context(), s.engine(), s); err != nil || p.Outcome != plan.Blocked || s.waits != 19 {
		t.Errorf("got %s, %v after %d pauses", p.Outcome, err, s.waits)
	}
}

// One component whose step fails each time does not end a run in which another one
// waits for something that may still come.
func TestRunGoesOnBesideFailures(t *testing.T) {
	const scale = "scale TiDB from 2 to 3"
	fails := make([]error, 10*giveUp)
	for i := range fails {
		fails[i] = errBroken
	}
	t.Run("another component waits", func(t *testing.T) {
		c := out().Roll(topology.TiKV).Evicting("t-tikv-2", time.Minute, 5)
		s := &fakes{turns: []fakeTurn{{c: c}}, fail: map[string][]error{scale: fails}}
		s.waited = func(n int) error {
			if n == 3*giveUp {
				s.turns = []fakeTurn{{c: rest()}}
			}
			return nil
		}
		if p, err := Run(t.Context(), s.engine(), s); err != nil || p.Outcome != plan.Converged {
			t.Errorf("got %s, %v after %d pauses", p.Outcome, err, s.waits)
		}
	})
	t.Run("until the other gate is blocked", func(t *testing.T) {
		c := out().Set(topology.TiKV, func(s *state.Set) { s.Observed = false })
		s := &fakes{turns: []fakeTurn{{c: c}}, fail: map[string][]error{scale: fails}}
		passing(s, c)
		if _, err := Run(t.Context(), s.engine(), s); !errors.Is(err, errBroken) || s.waits < giveUp+9 || s.waits > giveUp+11+undoAttempts {
			t.Errorf("got %v after %d pauses", err, s.waits)
		}
	})
	t.Run("no other component waits", func(t *testing.T) {
		s := &fakes{turns: []fakeTurn{{c: out()}}, fail: map[string][]error{scale: fails}}
		if _, err := Run(t.Context(), s.engine(), s); !errors.Is(err, errBroken) || s.waits != giveUp-1 {
			t.Errorf("got %v after %d pauses", err, s.waits)
		}
	})
	t.Run("a step for the cluster as a whole fails", func(t *testing.T) {
		c := waiting4()
		c.Wanted.Objects = []desired.Object{{Kind: "ConfigMap", Name: "t-discovery", Drift: desired.Differs}}
		s := &fakes{turns: []fakeTurn{{c: c}}, fail: map[string][]error{"update ConfigMap t-discovery": fails}}
		if _, err := Run(t.Context(), s.engine(), s); !errors.Is(err, errBroken) || s.waits != giveUp-1 {
			t.Errorf("got %v after %d pauses", err, s.waits)
		}
	})
	t.Run("the steps of another component succeed", func(t *testing.T) {
		m := &Memory{failed: []topology.Kind{topology.TiDB}, went: []topology.Kind{topology.PD}}
		if !m.goesOn(plan.Plan{}) {
			t.Error("the run ends")
		}
		m.went = []topology.Kind{topology.TiDB} // before the one that failed
		if m.goesOn(plan.Plan{}) {
			t.Error("the run goes on")
		}
	})
}

// TestDDLAskedOnce: a process asks for a pause of DDL once for each rollout, whatever becomes of that, and again when
// the pause has ended, since the rollout may go on. A step that was outdated was no request.
func TestDDLAskedOnce(t *testing.T) {
	begin, end := step.BeginDDLPause{Component: topology.TiDB, Revision: "r2"}, step.EndDDLPause{Component: topology.TiDB}
	for name, tt := range map[string]struct {
		steps []step.Step
		err   error
		want  string
	}{
		"asked":     {[]step.Step{begin}, nil, "r2"},
		"failed":    {[]step.Step{begin}, errBroken, "r2"},
		"outdated":  {[]step.Step{begin}, tooLate{}, ""},
		"ended":     {[]step.Step{begin, end}, nil, ""},
		"not begun": {[]step.Step{step.Close{Component: topology.TiDB}}, nil, ""},
	} {
		m := &Memory{}
		for _, s := range tt.steps {
			m.note(s, tt.err)
		}
		if got := m.withMemory(plan.Policy{}).DDLAsked; got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
