package reconcile

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// line returns a short form of an event.
func line(e event.Event) string {
	s := string(e.Type)
	for _, part := range []string{e.Component, e.Member, e.Step, e.Message, e.Observed, e.Outcome, e.Error} {
		if part != "" {
			s += " | " + part
		}
	}
	if e.Ready != nil {
		s += fmt.Sprintf(" | %d/%d/%d", *e.Ready, *e.Updated, *e.Wanted)
	}
	return s
}

func TestEachChangeIsReportedOnce(t *testing.T) {
	s := &fakes{}
	now := plantest.Now
	st := NewProgress("ns", "t", func() time.Time { return now }, s)
	reported := func(c *plantest.Cluster) []string {
		t.Helper()
		s.events = nil
		st.Decided(c.Wanted, c.Seen, c.Decide())
		var lines []string
		for _, e := range s.events {
			lines = append(lines, line(e))
		}
		now = now.Add(10 * time.Second)
		return lines
	}
	evict := func(leaders int) *plantest.Cluster {
		c := rest().Roll(topology.TiKV).Evicting("t-tikv-2", time.Minute, leaders)
		c.Wanted.Groups = c.Wanted.Groups[1:2]
		return c
	}
	for _, turn := range []struct {
		c    *plantest.Cluster
		want []string
	}{
		{evict(5), []string{
			"planned | wait", "progress | tikv | 3/0/3",
			"waiting | tikv | t-tikv-2 | t-tikv-2: leaders not evicted: 5 leaders left | 5 leaders left",
		}},
		{evict(5), nil},
		{evict(3), []string{"waiting | tikv | t-tikv-2 | t-tikv-2: leaders not evicted: 3 leaders left | 3 leaders left"}},
		{evict(0), []string{"passed | tikv | t-tikv-2 | t-tikv-2: leaders evicted | 3 leaders left"}},
		{evict(0), nil},
	} {
		if got := reported(turn.c); !reflect.DeepEqual(got, turn.want) {
			t.Errorf("got %q, want %q", got, turn.want)
		}
	}
}

// TestDroppedGate: a wait that ends in another way is not reported as one that has passed; nor are members that could
// not be asked counted as down.
func TestDroppedGate(t *testing.T) {
	evicting := func() *plantest.Cluster {
		c := rest().Roll(topology.TiKV).Evicting("t-tikv-2", time.Minute, 5)
		c.Wanted.Groups = c.Wanted.Groups[1:2]
		return c
	}
	queued := func() *plantest.Cluster {
		c := rest().Roll(topology.PD).Roll(topology.TiKV)
		c.Wanted.Groups = c.Wanted.Groups[:2]
		return c
	}
	canary := func(held bool) *plantest.Cluster {
		c := rest().Roll(topology.TiKV).Rolled(topology.TiKV, 2)
		c.Want(topology.TiKV).Held, c.Want(topology.TiKV).Canary = held, 1
		return c
	}
	edited := func(c *plantest.Cluster, edit func(*desired.Group)) *plantest.Cluster {
		edit(c.Want(topology.TiKV))
		return c
	}
	crashed, paused, asked := evicting(), evicting(), evicting()
	crashed.Down(time.Minute, "t-tikv-2")
	paused.Wanted.Cluster.Paused = true
	for _, c := range []struct {
		name          string
		before, after *plantest.Cluster
		outcome       string
	}{
		{"PD stops answering", evicting(), evicting().PDUnknown(), event.OutcomeDropped},
		{"the store crashes", evicting(), crashed, event.OutcomeDropped},
		{"PD stops answering before a rollout", queued(), queued().PDUnknown(), event.OutcomeDropped},
		{"a pause", evicting(), paused, event.OutcomeDropped},
		{"the leaders have left", evicting(), rest().Roll(topology.TiKV).Evicting("t-tikv-2", time.Minute, 0), ""},
		{"the canary is promoted", canary(true), canary(false), ""},
		{"the canary is taken back", canary(true), edited(canary(false), func(g *desired.Group) { g.Set.Drift = desired.Differs }), event.OutcomeDropped},
		{"the canary has more members now", canary(true), edited(canary(true), func(g *desired.Group) { g.Canary = 2 }), event.OutcomeDropped},
		{"PD answers again", asked.PDUnknown(), evicting(), ""},
		{"the store serves again, another one does not", rest().Down(time.Minute, "t-tikv-2"), rest().Down(time.Minute, "t-tikv-1"), ""},
	} {
		s := &fakes{}
		st := NewProgress("ns", "t", func() time.Time { return plantest.Now }, s)
		st.Decided(c.before.Wanted, c.before.Seen, c.before.Decide())
		s.events = nil
		st.Decided(c.after.Wanted, c.after.Seen, c.after.Decide())
		passed := 0
		for _, e := range s.events {
			if e.Type == event.Passed && e.Component == "tikv" {
				passed++
				if e.Outcome != c.outcome {
					t.Errorf("%s: %s: outcome %q", c.name, e.Message, e.Outcome)
				}
			}
			if e.Type == event.Progress && e.Component == "tikv" && c.name == "PD stops answering" && (*e.Ready != 0 || e.Unknown != 3) {
				t.Errorf("%s: %d ready, %d unknown", c.name, *e.Ready, e.Unknown)
			}
		}
		if passed != 1 {
			t.Errorf("%s: %d waits ended", c.name, passed)
		}
	}
}

// TestRequest: the first event of a run, whatever it is about, says what was asked for, and no other one.
func TestRequest(t *testing.T) {
	for name, first := range map[string]func(*Progress){
		"a decision": func(st *Progress) { c := rest(); st.Decided(c.Wanted, c.Seen, c.Decide()) },
		"a notice":   func(st *Progress) { st.Notice(event.SpecWarning, "a note") },
		"a refusal":  func(st *Progress) { st.Done(event.OutcomeBlocked, 3, 0, nil) },
	} {
		s := &fakes{}
		st := NewProgress("ns", "t", func() time.Time { return plantest.Now }, s).For("upgrade to v8.1.1")
		first(st)
		st.Notice(event.SpecWarning, "another note")
		for i, e := range s.events {
			if said := e.Request == "upgrade to v8.1.1"; said != (i == 0) {
				t.Errorf("%s: event %d, %s: request %q", name, i, e.Type, e.Request)
			}
		}
	}
}

// TestUnappliedIsReported: when a run ends, it reports once which members run without the current
// configuration, and what restarts them.
func TestUnappliedIsReported(t *testing.T) {
	s := &fakes{}
	st := NewProgress("ns", "t", func() time.Time { return plantest.Now }, s)
	c := rest()
	c.Want(topology.TiKV).InPlace = true
	st.Decided(c.Wanted, c.Seen, c.Decide())
	for _, e := range s.events {
		if e.Type == event.Notice {
			t.Errorf("reported although it is unknown: %s", line(e))
		}
	}
	c.Member("t-tikv-1").Pod.Config = state.ConfigOlder
	s.events = nil
	st.Decided(c.Wanted, c.Seen, c.Decide())
	st.Decided(c.Wanted, c.Seen, c.Decide())
	if len(s.events) != 1 || s.events[0].Type != event.Notice || !strings.Contains(s.events[0].Message, "t-tikv-1 started before") ||
		!strings.Contains(s.events[0].Help(), "kubectl tidb restart t tikv ") {
		t.Errorf("got %+v", s.events)
	}
}

// An event of a gate says what is awaited from where, since when, and until when.
func TestEventsOfAGate(t *testing.T) {
	s := &fakes{}
	c := rest().Roll(topology.TiKV).Evicting("t-tikv-2", time.Minute, 5)
	st := NewProgress("ns", "t", func() time.Time { return plantest.Now }, s)
	st.Decided(c.Wanted, c.Seen, c.Decide())
	e := s.events[len(s.events)-1]
	if e.Source != event.FromDatabase || !e.Since.Equal(plantest.Now.Add(-time.Minute)) ||
		!e.Deadline.Equal(plantest.Now.Add(59*time.Minute)) || e.Help() == "" {
		t.Errorf("got %+v", e)
	}
}

// A finding about a component as a whole may not be true any more at the end of the run, so it is
// reported at once, and once.
func TestEventsOfAFinding(t *testing.T) {
	s := &fakes{}
	c := rest()
	st := NewProgress("ns", "t", func() time.Time { return plantest.Now }, s)
	p := plan.Plan{Notices: []desired.Notice{{Component: topology.TiKV, Text: "it is kept", Remedy: remedy.Remedy{remedy.Say("update")}}}}
	st.Decided(c.Wanted, c.Seen, p)
	st.Decided(c.Wanted, c.Seen, p)
	st.Done("converged", 0, 0, nil)
	times := 0
	for _, e := range s.events {
		if e.Type == event.Notice && e.Component == "tikv" && e.Message == "it is kept" && e.Help() == "update" {
			times++
		}
	}
	if times != 1 {
		t.Errorf("reported %d times", times)
	}
}

func TestEventsOfSteps(t *testing.T) {
	s := &fakes{}
	st := NewProgress("ns", "t", func() time.Time { return plantest.Now }, s)
	next := step.AllowLeaders{Member: "t-tikv-2", StoreID: 3}
	st.Started(next)(nil)
	st.Started(next)(errBroken)
	var got []string
	for _, e := range s.events {
		if e.Namespace != "ns" || e.Cluster != "t" || e.APIVersion != event.Version || !e.Time.Equal(plantest.Now) {
			t.Errorf("got %+v", e)
		}
		got = append(got, line(e))
	}
	want := strings.Split(`started | tikv | t-tikv-2 | allow region leaders on t-tikv-2
finished | tikv | t-tikv-2 | allow region leaders on t-tikv-2
started | tikv | t-tikv-2 | allow region leaders on t-tikv-2
failed | tikv | t-tikv-2 | allow region leaders on t-tikv-2 | broken`, "\n")
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
