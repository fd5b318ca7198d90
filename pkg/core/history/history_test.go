package history

import (
	"reflect"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

var begin = time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)

// after returns a time some seconds after the beginning.
func after(n int) time.Time { return begin.Add(time.Duration(n) * time.Second) }

// at returns an event of cluster basic.
func at(n int, e event.Event) event.Event {
	e.Time, e.Namespace, e.Cluster = after(n), "db", "basic"
	return e
}

func built(events ...event.Event) []Run {
	var b Builder
	for _, e := range events {
		b.Add(e)
	}
	return b.Runs()
}

var (
	restart = event.Event{Component: "tikv", Member: "basic-tikv-2", Action: "Restart", Step: "restart basic-tikv-2"}
	move    = event.Event{Component: "pd", Member: "basic-pd-0", Action: "MoveLeader", Step: "move PD leader from basic-pd-0 to basic-pd-1"}
	serving = event.Event{Component: "tikv", Member: "basic-tikv-2", Reason: "MemberServing", Message: "not serving", Source: event.FromKubernetes}
	evicted = event.Event{Component: "tikv", Member: "basic-tikv-2", Reason: "LeadersEvicted", Message: "leaders left", Source: event.FromDatabase}
)

func as(e event.Event, t event.Type) event.Event { e.Type = t; return e }

func TestSteps(t *testing.T) {
	failed := as(restart, event.Failed)
	failed.Error = "conflict"
	unseen := event.Event{Type: event.Failed, Step: "observe the cluster", Error: "timeout", Seconds: 2}
	for name, tt := range map[string]struct {
		events []event.Event
		want   []Step
	}{
		"taken": {
			[]event.Event{at(1, as(restart, event.Started)), at(3, as(restart, event.Finished))},
			[]Step{{"tikv", "basic-tikv-2", "Restart", restart.Step, after(1), after(3), Taken, 1, ""}},
		},
		"failed, and taken then: one step": {
			[]event.Event{at(1, as(restart, event.Started)), at(2, failed), at(3, as(restart, event.Started)), at(9, as(restart, event.Finished))},
			[]Step{{"tikv", "basic-tikv-2", "Restart", restart.Step, after(1), after(9), Taken, 2, "conflict"}},
		},
		"taken twice: two steps": {
			[]event.Event{at(1, as(restart, event.Started)), at(2, as(restart, event.Finished)), at(3, as(restart, event.Started)), at(9, as(restart, event.Finished))},
			[]Step{
				{"tikv", "basic-tikv-2", "Restart", restart.Step, after(1), after(2), Taken, 1, ""},
				{"tikv", "basic-tikv-2", "Restart", restart.Step, after(3), after(9), Taken, 1, ""},
			},
		},
		"under way at the end": {
			[]event.Event{at(1, as(restart, event.Started)), at(7, event.Event{Type: event.Notice})},
			[]Step{{"tikv", "basic-tikv-2", "Restart", restart.Step, after(1), after(7), Begun, 1, ""}},
		},
		"an observation that fails has no beginning, and the same again is the same": {
			[]event.Event{at(3, unseen), at(9, unseen)},
			[]Step{{"", "", "", "observe the cluster", after(3), after(9), Failed, 2, "timeout"}},
		},
		"another failure long after is another one": {
			[]event.Event{at(3, unseen), at(900, unseen)},
			[]Step{
				{"", "", "", "observe the cluster", after(3), after(3), Failed, 1, "timeout"},
				{"", "", "", "observe the cluster", after(900), after(900), Failed, 1, "timeout"},
			},
		},
	} {
		if got := built(tt.events...)[0].Steps; !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s:\n%+v\n%+v", name, got, tt.want)
		}
	}
}

func TestWaits(t *testing.T) {
	since := begin.Add(-time.Hour)
	left, less := int64(700), int64(3)
	first, last := as(evicted, event.Waiting), as(evicted, event.Waiting)
	first.Left, first.Unit, first.Since = &left, "leaders", &since
	last.Left, last.Unit, last.Message = &less, "leaders", "3 left"
	r := built(at(0, as(serving, event.Passed)), at(1, first), at(5, last), at(11, as(evicted, event.Passed)), at(12, as(evicted, event.Waiting)),
		at(13, as(serving, event.Blocked)), at(20, event.Event{Type: event.Done, Outcome: event.OutcomeBlocked}))[0]
	if len(r.Waits) != 3 {
		t.Fatalf("%d waits: one that was never reported is none", len(r.Waits))
	}
	w := r.Waits[0]
	if w.Status != Passed || w.Took() != time.Hour+11*time.Second || w.During() != 10*time.Second || *w.First != 700 || *w.Last != 3 || w.Message != "3 left" {
		t.Errorf("%+v", w)
	}
	if w := r.Waits[1]; w.Status != Waiting || w.Took() != 8*time.Second {
		t.Errorf("the same gate again, to the end: %+v", w)
	}
	if w := r.Waits[2]; w.Status != Blocked {
		t.Errorf("%+v", w)
	}
	got := r.Reasons()
	if len(got) != 2 || got[0].Times != 2 || got[0].Sum != 18*time.Second || got[0].Longest != 10*time.Second || got[0].Slowest.Status != Passed {
		t.Errorf("%+v", got)
	}
	if w := built(at(1, as(serving, event.Waiting)), at(4, event.Event{Type: event.Done, Outcome: event.OutcomeConverged}))[0].Waits[0]; w.Status != Passed {
		t.Errorf("a cluster that has converged waits for nothing: %+v", w)
	}
}

// TestRequest: what was asked for is that of the run, whichever event says it; older recordings do not.
func TestRequest(t *testing.T) {
	runs := built(at(1, event.Event{Type: event.Notice}), at(1, event.Event{Type: event.Planned, Request: "sync"}), at(2, event.Event{Type: event.Done}),
		at(3, event.Event{Type: event.Done, Request: "scale tikv=4"}), at(4, event.Event{Type: event.Planned}))
	if len(runs) != 3 || runs[0].Request != "sync" || runs[1].Request != "scale tikv=4" || runs[2].Request != "" {
		t.Errorf("%+v", runs)
	}
}

// TestRuns: events of several clusters may be mixed, and a cluster may have several runs.
func TestRuns(t *testing.T) {
	done := event.Event{Type: event.Done, Outcome: event.OutcomeTimedOut}
	other := at(2, event.Event{Type: event.Planned})
	other.Cluster = "other"
	code := 4
	end := at(10, done)
	end.ExitCode, end.Seconds, end.Error = &code, 11, "timed out"
	runs := built(
		at(0, event.Event{Type: event.Notice}), at(1, event.Event{Type: event.Planned}), other, end,
		at(20, event.Event{Type: event.Planned}), at(21, event.Event{Type: event.Planned}), // killed, and begun again
	)
	if len(runs) != 4 || runs[1].Cluster != "other" || len(runs[0].Notices) != 1 {
		t.Fatalf("%d runs: %+v", len(runs), runs)
	}
	if r := runs[0]; r.Outcome != event.OutcomeTimedOut || r.ExitCode != 4 || r.Error != "timed out" || r.Took() != 11*time.Second || r.Began != after(-1) {
		t.Errorf("%+v", r)
	}
	if runs[2].Outcome != "" || runs[3].Began != after(21) {
		t.Errorf("%+v", runs[2:])
	}
}

// TestSpent: each moment counts once, so that the parts add up to the whole.
func TestSpent(t *testing.T) {
	r := built(
		at(0, event.Event{Type: event.Planned}), at(1, as(restart, event.Started)), at(3, as(serving, event.Waiting)),
		at(4, as(restart, event.Finished)), at(10, as(evicted, event.Waiting)), at(30, as(evicted, event.Passed)),
		at(35, as(serving, event.Passed)), at(37, event.Event{Type: event.Done}),
	)[0]
	want := Spent{Stepping: 3 * time.Second, Kubernetes: 11 * time.Second, Database: 20 * time.Second, Otherwise: 3 * time.Second}
	if r.Spent != want || r.Took() != 37*time.Second {
		t.Errorf("%+v of %s", r.Spent, r.Took())
	}
}

func TestUnsolved(t *testing.T) {
	failed := as(restart, event.Failed)
	end := func(n int, outcome string) event.Event { return at(n, event.Event{Type: event.Done, Outcome: outcome}) }
	another := event.Event{Type: event.Finished, Component: "tikv", Member: "basic-tikv-2", Step: "evict"}
	for name, tt := range map[string]struct {
		events []event.Event
		want   bool
	}{
		"at the end":                         {[]event.Event{at(1, failed), end(9, event.OutcomeFailed)}, true},
		"the run was killed":                 {[]event.Event{at(1, failed)}, true},
		"converged nevertheless":             {[]event.Event{at(1, failed), end(9, event.OutcomeConverged)}, false},
		"long ago":                           {[]event.Event{at(1, failed), end(900, event.OutcomeTimedOut)}, false},
		"another step for the target":        {[]event.Event{at(1, failed), at(2, another), end(9, event.OutcomeFailed)}, false},
		"another step for another component": {[]event.Event{at(1, failed), at(2, as(move, event.Finished)), end(9, event.OutcomeFailed)}, true},
	} {
		r := built(tt.events...)[0]
		if got := r.Unsolved(r.Steps[0]); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestCounts(t *testing.T) {
	one, two, three := 1, 2, 3
	count := func(component string, ready *int) event.Event {
		return event.Event{Type: event.Progress, Component: component, Ready: ready, Updated: &two, Wanted: &three}
	}
	failed := as(restart, event.Failed)
	r := built(at(1, count("tidb", &one)), at(2, count("pd", &one)), at(3, count("pd", &three)), at(3, count("tiflash", &one)),
		at(4, as(move, event.Started)), at(5, as(move, event.Finished)), at(6, failed), at(7, failed), at(8, as(restart, event.Finished)))[0]
	if want := []Numbers{{"pd", 3, 0, 2, 3}, {"tiflash", 1, 0, 2, 3}, {"tidb", 1, 0, 2, 3}}; !reflect.DeepEqual(r.Components, want) {
		t.Errorf("%+v", r.Components)
	}
	if moves := r.LeaderMoves(); len(moves) != 1 || moves[0].Text != move.Step {
		t.Errorf("%+v", moves)
	}
	if n := r.FailedAttempts(); n != 2 {
		t.Errorf("%d attempts failed", n)
	}
}

// TestServing: members that could not be asked are not shown as members that are not ready.
func TestServing(t *testing.T) {
	for want, n := range map[string]Numbers{
		"2/3": {Ready: 2, Wanted: 3}, "0/3": {Wanted: 3}, "?/3": {Unknown: 1, Wanted: 3}, "1/3 (2 unknown)": {Ready: 1, Unknown: 2, Wanted: 3},
	} {
		if got := n.Serving(); got != want {
			t.Errorf("%s instead of %s", got, want)
		}
	}
}

// TestDropped: a wait that was not seen to pass is not shown as one that has passed.
func TestDropped(t *testing.T) {
	dropped := as(evicted, event.Passed)
	dropped.Outcome = event.OutcomeDropped
	if w := built(at(0, as(evicted, event.Waiting)), at(3, dropped))[0].Waits[0]; w.Status != Dropped || w.Took() != 3*time.Second {
		t.Errorf("%+v", w)
	}
}

// TestTracks: one for each target, in the order of components and of the members' numbers; bars at
// the same time are in lanes of their own.
func TestTracks(t *testing.T) {
	ten, cluster := restart, event.Event{Type: event.Failed, Step: "observe the cluster"}
	ten.Member = "basic-tikv-10"
	long := begin.Add(-time.Hour)
	early := as(serving, event.Waiting)
	early.Since = &long
	r := built(
		at(0, event.Event{Type: event.Planned}), at(0, as(ten, event.Started)), at(5, as(ten, event.Finished)), at(5, early),
		at(5, as(restart, event.Started)), at(10, as(restart, event.Finished)), at(10, as(serving, event.Passed)),
		at(10, as(evicted, event.Waiting)), at(15, cluster), at(16, as(move, event.Finished)), at(20, event.Event{Type: event.Done}),
	)[0]
	var names []string
	tracks := r.Tracks()
	for _, tr := range tracks {
		names = append(names, tr.Component+"/"+tr.Member)
	}
	if want := []string{"/", "pd/basic-pd-0", "tikv/basic-tikv-2", "tikv/basic-tikv-10"}; !reflect.DeepEqual(names, want) {
		t.Fatalf("%v", names)
	}
	two := tracks[2]
	if two.Lanes != 2 || len(two.Bars) != 3 {
		t.Fatalf("%+v", two)
	}
	type place struct {
		from, to float64
		lane     int
	}
	var places []place
	for _, b := range two.Bars {
		places = append(places, place{b.From, b.To, b.Lane})
	}
	if want := []place{{0, 0.5, 0}, {0.25, 0.5, 1}, {0.5, 1, 0}}; !reflect.DeepEqual(places, want) {
		t.Errorf("%v", places)
	}
	if got := built(at(0, as(restart, event.Finished)))[0].Tracks()[0].Bars[0]; got.From != 0 || got.To != 0 {
		t.Errorf("a run of one event has no length: %+v", got)
	}
}
