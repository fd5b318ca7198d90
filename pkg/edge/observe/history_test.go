package observe

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// TestSince: the time begins again when something was not true in between.
func TestSince(t *testing.T) {
	gone, later := map[string]time.Time{}, noon.Add(time.Minute)
	trueSince(gone, "a", true, noon)
	if got := trueSince(gone, "a", true, later); !got.Equal(noon) {
		t.Errorf("missing since %s", got)
	}
	if got := trueSince(gone, "a", false, later); !got.IsZero() {
		t.Errorf("there, but missing since %s", got)
	}
	if got := trueSince(gone, "a", true, later); !got.Equal(later) {
		t.Errorf("missing again since %s", got)
	}
}

// TestEndedSince: the time of a pod in a final phase begins again with another pod, also where the copy of a watch
// shows the former pod for a while.
func TestEndedSince(t *testing.T) {
	h, now := newHistory(), noon
	former, next := &state.Pod{UID: "1", Ended: true}, &state.Pod{UID: "2", Ended: true}
	for _, c := range []struct {
		pod  *state.Pod
		want time.Duration
	}{{former, 0}, {former, time.Minute}, {next, 0}, {next, time.Minute}, {former, 0}, {&state.Pod{UID: "2"}, -1}, {next, 0}, {nil, -1}, {next, 0}} {
		got := h.endedSince("basic-pd-0", c.pod, now)
		if c.want < 0 && !got.IsZero() || c.want >= 0 && now.Sub(got) != c.want {
			t.Errorf("%+v: ended since %s at %s", c.pod, got, now)
		}
		now = now.Add(time.Minute)
	}
}

// TestElection: PD without a leader counts as PD without a quorum only after the time of an
// election.
func TestElection(t *testing.T) {
	h := newHistory()
	for _, c := range []struct {
		after         time.Duration
		without, want bool
	}{{0, true, false}, {election, true, false}, {election + 1, true, true}, {election + 2, false, false}, {2 * election, true, false}} {
		if got := h.outlasts(c.without, noon.Add(c.after)); got != c.want {
			t.Errorf("after %v: got %t, want %t", c.after, got, c.want)
		}
	}
}

// TestLedInBetween: two elections with a leader in between are no PD without a leader, also where nobody has observed
// the leader. The leader has committed something.
func TestLedInBetween(t *testing.T) {
	for grown, want := range map[uint64]bool{0: true, 1: false} {
		h, later := newHistory(), noon.Add(election+time.Second)
		h.committedUpTo(7)
		h.unledFor([]string{"a"}, noon)
		h.outlasts(true, noon)
		h.committedUpTo(7 + grown)
		if got := len(h.unledFor([]string{"a"}, later)) > 0; got != want {
			t.Errorf("%d more entries: a member without a leader %t", grown, got)
		}
		if got := h.outlasts(true, later); got != want {
			t.Errorf("%d more entries: without a leader %t", grown, got)
		}
	}
}

// TestLeading: a leader counts as new when it is another one, and when PD did not
// answer in between.
func TestLeading(t *testing.T) {
	h := newHistory()
	for i, c := range []struct {
		pd   state.PD
		want int // since which observation
	}{
		{state.PD{Leader: "a"}, 0}, {state.PD{Leader: "a"}, 0}, {state.PD{Leader: "b"}, 2}, {state.PD{Leader: "b"}, 2},
		{state.PD{Problem: "timeout"}, -1}, {state.PD{Leader: "b"}, 5}, {state.PD{}, -1}, {state.PD{Leader: "b"}, 7},
		{state.PD{Leader: "b", Problem: "old"}, -1}, {state.PD{Leader: "b"}, 9},
	} {
		at := func(i int) time.Time { return noon.Add(time.Duration(i) * time.Second) }
		h.leading(&c.pd, time.Time{}, at(i))
		if got := c.pd.LeaderSince; c.want >= 0 && !got.Equal(at(c.want)) || c.want < 0 && !got.IsZero() {
			t.Errorf("observation %d: leads since %s, want that of %d", i, got, c.want)
		}
	}
}

// TestLeadingUnwatched: the time of a leader begins again with its process, and after a long pause
// between two observations.
func TestLeadingUnwatched(t *testing.T) {
	for name, c := range map[string]struct {
		pause, started, want time.Duration
	}{
		"a pause":                  {unobservedAfter, -time.Hour, 0},
		"a long pause":             {unobservedAfter + 1, -time.Hour, unobservedAfter + 1},
		"its process is new":       {time.Second, time.Millisecond, time.Millisecond},
		"its process is not known": {time.Second, -1000 * time.Hour, 0},
	} {
		h := newHistory()
		h.leading(&state.PD{Leader: "a"}, time.Time{}, noon)
		now := state.PD{Leader: "a"}
		h.leading(&now, noon.Add(c.started), noon.Add(c.pause))
		if got := now.LeaderSince.Sub(noon); got != c.want {
			t.Errorf("%s: leads since %s, want %s", name, got, c.want)
		}
	}
}

// TestLeadingAgain: a leader that shows earlier heartbeats than before was elected again in between,
// under the same name.
func TestLeadingAgain(t *testing.T) {
	for name, c := range map[string]struct {
		first, second map[uint64]time.Time
		again         bool
	}{
		"the same heartbeats":  {map[uint64]time.Time{1: noon}, map[uint64]time.Time{1: noon}, false},
		"later ones":           {map[uint64]time.Time{1: noon}, map[uint64]time.Time{1: noon.Add(1)}, false},
		"one is earlier":       {map[uint64]time.Time{1: noon, 2: noon}, map[uint64]time.Time{1: noon.Add(1), 2: noon.Add(-1)}, true},
		"a store is new":       {map[uint64]time.Time{1: noon}, map[uint64]time.Time{1: noon, 2: noon.Add(-time.Hour)}, false},
		"a store is gone":      {map[uint64]time.Time{1: noon, 2: noon}, map[uint64]time.Time{1: noon}, false},
		"nothing is known now": {map[uint64]time.Time{1: noon}, nil, false},
	} {
		h := newHistory()
		observe := func(heartbeats map[uint64]time.Time, now time.Time) time.Time {
			seen := state.PD{Leader: "a"}
			h.noteHeartbeats(heartbeats)
			h.leading(&seen, time.Time{}, now)
			return seen.LeaderSince
		}
		observe(c.first, noon)
		want := noon
		if c.again {
			want = noon.Add(time.Second)
		}
		if got := observe(c.second, noon.Add(time.Second)); !got.Equal(want) {
			t.Errorf("%s: leads since %s, want %s", name, got, want)
		}
		if got := observe(c.second, noon.Add(2*time.Second)); !got.Equal(want) {
			t.Errorf("%s: leads since %s afterwards, want %s", name, got, want)
		}
	}
}

// TestLeadingAgainAfterNoAnswer: heartbeats are remembered while PD lists no stores, also that of a
// single store.
func TestLeadingAgainAfterNoAnswer(t *testing.T) {
	h := newHistory()
	var got state.PD
	for i, heartbeats := range []map[uint64]time.Time{{1: noon}, nil, {1: noon.Add(-time.Minute)}} {
		got = state.PD{Leader: "a"}
		h.noteHeartbeats(heartbeats)
		h.leading(&got, time.Time{}, noon.Add(time.Duration(i)*time.Second))
	}
	if want := noon.Add(2 * time.Second); !got.LeaderSince.Equal(want) {
		t.Errorf("leads since %s, want %s", got.LeaderSince, want)
	}
}

// TestSettled: a leader has got heartbeats of all stores after some minutes; without a leader PD is
// never settled.
func TestSettled(t *testing.T) {
	h := newHistory()
	if h.settled(noon) {
		t.Error("settled without a leader")
	}
	h.leading(&state.PD{Leader: "a"}, time.Time{}, noon)
	if h.settled(noon.Add(leaderSettles-1)) || !h.settled(noon.Add(leaderSettles)) {
		t.Error("not settled at the right time")
	}
}

// TestLabelledSince: the time begins again when a store or a label of it changes, and when PD did not list stores, or
// was not asked for long.
func TestLabelledSince(t *testing.T) {
	one := map[uint64]map[string]string{1: {"zone": "a"}, 2: nil}
	same := map[uint64]map[string]string{1: {"zone": "a"}, 2: {}}
	for name, c := range map[string]struct {
		second map[uint64]map[string]string
		pause  time.Duration // before the third
		want   time.Duration // of the third; the second comes after a second
	}{
		"nothing changes":        {same, time.Second, 0},
		"a long pause":           {same, unobservedAfter, 0},
		"nobody asks for longer": {same, unobservedAfter + 1, time.Second + unobservedAfter + 1},
		"another zone":           {map[uint64]map[string]string{1: {"zone": "b"}, 2: nil}, time.Second, 2 * time.Second},
		"a label more":           {map[uint64]map[string]string{1: {"zone": "a"}, 2: {"host": "x"}}, time.Second, 2 * time.Second},
		"a store more":           {map[uint64]map[string]string{1: {"zone": "a"}, 2: nil, 3: nil}, time.Second, 2 * time.Second},
		"a store less":           {map[uint64]map[string]string{1: {"zone": "a"}}, time.Second, 2 * time.Second},
		"another store":          {map[uint64]map[string]string{1: {"zone": "a"}, 3: nil}, time.Second, 2 * time.Second},
		"no answer":              {nil, time.Second, 2 * time.Second},
		"no stores":              {map[uint64]map[string]string{}, time.Second, 2 * time.Second},
	} {
		h := newHistory()
		if got := h.labelledSince(one, noon); !got.Equal(noon) {
			t.Errorf("%s: at first %s", name, got)
		}
		if got := h.labelledSince(c.second, noon.Add(time.Second)); got.IsZero() != (len(c.second) == 0) {
			t.Errorf("%s: then %s", name, got)
		}
		if got := h.labelledSince(one, noon.Add(time.Second+c.pause)); got.Sub(noon) != c.want {
			t.Errorf("%s: since %s, want %s", name, got.Sub(noon), c.want)
		}
	}
}
