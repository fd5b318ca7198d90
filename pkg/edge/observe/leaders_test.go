package observe

import (
	"net/http"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// A store is asked twice a minute in an hour in which no leader leaves it, and at once when PD's
// number changes or cannot be trusted.
func TestLongEvictionAsksSeldom(t *testing.T) {
	now, asked, own := noon, 0, 340
	o := through(func(r *http.Request) (*http.Response, error) { asked++; return holding(own, 900)(r) })
	o.now = func() time.Time { return now }
	o.history.leading(&state.PD{Leader: "basic-pd-0"}, time.Time{}, noon.Add(-time.Hour))
	look := func(byPD int, change ...func(*state.Database)) (leaders, requests int) {
		d := state.Database{Presence: state.Present, ID: 4, State: state.StoreUp, Healthy: true, Evicting: true, Leaders: byPD}
		for _, c := range change {
			c(&d)
		}
		members := []state.Member{{Kind: topology.TiKV, Name: "basic-tikv-0", Pod: &state.Pod{Ready: true, Started: noon.Add(-time.Hour)}, Database: d}}
		before := asked
		o.askStores(t.Context(), basic, members)
		return members[0].Database.Leaders, asked - before
	}
	for range 720 {
		if leaders, _ := look(350); leaders != 340 {
			t.Fatalf("%d leaders", leaders)
		}
		now = now.Add(5 * time.Second)
	}
	if asked < 110 || asked > 140 {
		t.Errorf("asked %d times in an hour", asked)
	}
	own = 12
	if leaders, n := look(330); n != 1 || leaders != 12 {
		t.Errorf("PD's number has changed: asked %d times, got %d leaders", n, leaders)
	}
	if _, n := look(330); n != 1 {
		t.Error("few leaders are left, and it was not asked")
	}
	own = 340
	look(330)
	if _, n := look(330); n != 0 {
		t.Error("asked again at once")
	}
	if _, n := look(330, func(d *state.Database) { d.State = state.StoreDisconnected }); n != 1 {
		t.Error("PD does not hear from it, and it was not asked")
	}
	o.history.leading(&state.PD{Leader: "basic-pd-1"}, time.Time{}, now)
	if _, n := look(330); n != 1 {
		t.Error("PD has a new leader, and it was not asked")
	}
	o.history.leads = noon
	look(330, func(d *state.Database) { d.Evicting = false })
	if _, n := look(330); n != 1 {
		t.Error("another eviction began with the number of the last one")
	}
}

// TestAskedAgain: the last answer of a store counts for a while, but not at the beginning and at
// the end of its eviction.
func TestAskedAgain(t *testing.T) {
	now := noon.Add(time.Hour)
	const many = fewLeaders + 1
	for name, c := range map[string]struct {
		begun, asked time.Duration // ago
		last, own    int           // what PD and the store said last
		byPD         int
		ask          bool
	}{
		"a long eviction":              {young, countedFor - 1, many, many, many, false},
		"a young eviction":             {young - 1, time.Second, many, many, many, true},
		"asked long ago":               {time.Hour, countedFor, many, many, many, true},
		"PD's number has moved":        {time.Hour, time.Second, many + 1, many, many, true},
		"few are left, PD says":        {time.Hour, time.Second, fewLeaders, many, fewLeaders, true},
		"few are left, the store said": {time.Hour, time.Second, many, fewLeaders, many, true},
	} {
		counts := leaderCounts{of: map[uint64]leaderCount{4: {begun: now.Add(-c.begun), asked: now.Add(-c.asked), byPD: c.last, own: c.own}}}
		want := c.own
		if c.ask {
			want = 0
		}
		if own, ask := counts.askAgain(4, c.byPD, now); ask != c.ask || own != want {
			t.Errorf("%s: ask %t, %d", name, ask, own)
		}
		if own, ask := counts.askAgain(5, c.byPD, now); !ask || own != 0 {
			t.Errorf("%s: of another store %d", name, own)
		}
	}
}
