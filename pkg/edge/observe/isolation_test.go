package observe

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// watcher observes a PD whose regions have copies in three zones.
type watcher struct {
	*Observer
	pd   *pd.Fake
	time time.Time
}

func newWatcher() *watcher {
	w := &watcher{pd: spread(), time: noon}
	w.pd.Update(func(s *pd.FakeState) {
		s.Isolation = pd.Isolation{
			Regions: 30, Apart: map[string]int{"zone": 29, "none": 1}, Unsound: map[string]int{"miss-peer": 2}, Pass: 20 * time.Second,
		}
	})
	w.Observer = &Observer{
		now: func() time.Time { return w.time }, history: newHistory(),
		pd: w.pd, urls: []string{"http://" + basic.PodHost(topology.PD, 0) + ":2379"},
	}
	return w
}

// see observes after a while, as Observe does.
func (w *watcher) see(t *testing.T, c topology.Cluster, after time.Duration) state.PD {
	t.Helper()
	w.time = w.time.Add(after)
	d := w.base(t.Context(), c, pdPods(corev1.PodRunning))
	w.history.noteHeartbeats(d.heartbeats)
	w.history.leading(&d.state, time.Time{}, w.time)
	return d.state
}

// pages returns how often the page of metrics was read.
func (w *watcher) pages() int {
	return len(slices.DeleteFunc(w.pd.Calls(), func(call string) bool { return call != "Isolation()" }))
}

// TestIsolation: where copies are is read, with placement rules and stores, if that was asked for.
func TestIsolation(t *testing.T) {
	w := newWatcher()
	w.ReadIsolation()
	got := w.see(t, scaled(4), 0)
	want := state.Isolation{
		Regions: 30, Apart: map[string]int{"zone": 29, "none": 1}, Unsound: map[string]int{"miss-peer": 2}, Pass: 20 * time.Second, LabelsSince: noon,
	}
	if !reflect.DeepEqual(got.Isolation, want) {
		t.Errorf("got %+v, want %+v", got.Isolation, want)
	}
	if len(got.Placement.Stores) != 4 || len(got.Placement.Rules) != 1 {
		t.Errorf("placement %+v", got.Placement)
	}
}

// TestWhenIsolationIsRead: nothing is read that nobody asked for, and no rules before there are stores.
func TestWhenIsolationIsRead(t *testing.T) {
	flash := basic
	flash.Groups = []topology.Group{{Kind: topology.PD, Replicas: 3}, {Kind: topology.TiFlash, Replicas: 1}}
	for name, c := range map[string]struct {
		cluster topology.Cluster
		without bool // ReadIsolation
		change  func(*pd.FakeState)
		pages   int
		unread  string
	}{
		"it was asked for":            {scaled(4), false, func(*pd.FakeState) {}, 1, ""},
		"nobody asked for it":         {scaled(4), true, func(*pd.FakeState) {}, 0, ""},
		"there is no TiKV":            {flash, false, func(*pd.FakeState) {}, 0, ""},
		"no store has joined":         {scaled(4), false, func(s *pd.FakeState) { s.NotBootstrapped = true }, 0, "PD lists no stores"},
		"stores are not loaded":       {scaled(4), false, func(s *pd.FakeState) { s.Stores = nil }, 0, "PD lists no stores"},
		"PD does not answer at all":   {scaled(4), false, func(s *pd.FakeState) { s.Unreachable = true }, 0, ""},
		"PD has not counted anything": {scaled(4), false, func(s *pd.FakeState) { s.Isolation.Apart = nil }, 1, ""},
	} {
		w := newWatcher()
		if !c.without {
			w.ReadIsolation()
		}
		w.pd.Update(c.change)
		got := w.see(t, c.cluster, 0)
		if n := w.pages(); n != c.pages || rulesRead(w.pd) != c.pages || got.Isolation.Unread != c.unread {
			t.Errorf("%s: %d pages, %d times rules, %+v", name, n, rulesRead(w.pd), got.Isolation)
		}
		if known := !got.Isolation.LabelsSince.IsZero(); known != (c.pages > 0) {
			t.Errorf("%s: labels since %s", name, got.Isolation.LabelsSince)
		}
	}
}

// TestIsolationIsNotReadAtOnceAgain: what was read a moment ago counts again, but not in a live observation, and not
// if PD's leader may be another one or has begun to count again.
func TestIsolationIsNotReadAtOnceAgain(t *testing.T) {
	for name, c := range map[string]struct {
		after    time.Duration
		live     bool
		between  func(*pd.FakeState) // of an observation between both; nil for none
		second   func(*pd.FakeState)
		pages    int
		answered bool // from what was read first
	}{
		"a moment later":       {after: isolationFresh - 1, pages: 1, answered: true},
		"later":                {after: isolationFresh, pages: 2},
		"a live observation":   {after: 1, live: true, pages: 2},
		"another leader":       {after: 1, second: func(s *pd.FakeState) { s.Leader = "pd-1" }, pages: 2},
		"elected again":        {after: 1, second: func(s *pd.FakeState) { s.Stores[0].LastHeartbeat = noon.Add(-time.Minute) }, pages: 2},
		"a heartbeat":          {after: 1, second: func(s *pd.FakeState) { s.Stores[0].LastHeartbeat = noon.Add(1) }, pages: 1, answered: true},
		"no answer in between": {after: 1, between: func(s *pd.FakeState) { s.Unreachable = true }, pages: 2},
		"another in between":   {after: 1, between: func(s *pd.FakeState) { s.Leader = "pd-1" }, pages: 3},
	} {
		w := newWatcher()
		w.ReadIsolation()
		w.pd.Update(func(s *pd.FakeState) { s.Stores[0].LastHeartbeat = noon })
		w.see(t, scaled(4), 0)
		if c.between != nil {
			w.pd.Update(c.between)
			w.see(t, scaled(4), 1)
		}
		w.pd.Update(func(s *pd.FakeState) {
			s.Isolation.Apart, s.Leader, s.Unreachable = map[string]int{"zone": 30}, "pd-0", false
			if c.second != nil {
				c.second(s)
			}
		})
		w.asksAll = c.live
		got := w.see(t, scaled(4), c.after).Isolation
		if w.pages() != c.pages || got.Apart["none"] > 0 != c.answered {
			t.Errorf("%s: %d pages, %+v", name, w.pages(), got)
		}
	}
}

// TestIsolationCannotBeRead: the reason is in the observation, and nothing that was read before counts. PD is asked
// again in the next observation.
func TestIsolationCannotBeRead(t *testing.T) {
	for want, fails := range map[string]error{
		pd.ErrNoLeader.Error(): &pd.UnavailableError{Op: "x", Kind: pd.ErrNoLeader, Last: errors.New("timeout")},
		"a count is NaN":       errors.New("a count is NaN"),
	} {
		w := newWatcher()
		w.ReadIsolation()
		w.see(t, scaled(4), 0)
		w.pd.Hook = func(_ context.Context, call string) error {
			if call == "Isolation()" {
				return fails
			}
			return nil
		}
		for range 2 {
			got := w.see(t, scaled(4), isolationFresh)
			if !reflect.DeepEqual(got.Isolation, state.Isolation{Unread: want, LabelsSince: noon}) || !got.Known() {
				t.Errorf("%s: %+v", want, got.Isolation)
			}
		}
		w.pd.Hook = nil
		if got := w.see(t, scaled(4), 1).Isolation; got.Unread != "" || got.Regions != 30 || w.pages() != 4 {
			t.Errorf("%s, and then an answer: %+v, %d pages", want, got, w.pages())
		}
	}
}

// TestIsolationTakesLong: the page has more time to be read than other answers of PD.
func TestIsolationTakesLong(t *testing.T) {
	w, left := newWatcher(), time.Duration(0)
	w.ReadIsolation()
	w.pd.Hook = func(ctx context.Context, call string) error {
		if end, ok := ctx.Deadline(); ok && call == "Isolation()" {
			left = time.Until(end)
		}
		return nil
	}
	if w.see(t, scaled(4), 0); left <= readTimeout {
		t.Errorf("%s left", left)
	}
}

// TestLabelsOfStores: labels of TiFlash count, and labels of tombstones do not.
func TestLabelsOfStores(t *testing.T) {
	w := newWatcher()
	w.ReadIsolation()
	w.pd.Update(func(s *pd.FakeState) {
		s.Stores = append(s.Stores,
			pd.Store{ID: 9, Address: "10.0.0.1:3930", StateName: "Up", Labels: map[string]string{"engine": "tiflash"}},
			pd.Store{ID: 10, Address: "10.0.0.2:20160", State: pd.StoreTombstone, StateName: "Tombstone"})
	})
	look := func(want time.Duration, change func(*pd.FakeState)) {
		t.Helper()
		w.pd.Update(change)
		got := w.see(t, scaled(4), time.Second).Isolation.LabelsSince
		if want < 0 != got.IsZero() || want >= 0 && got.Sub(noon) != want {
			t.Errorf("since %s", got.Sub(noon))
		}
	}
	look(time.Second, func(*pd.FakeState) {})
	look(time.Second, func(s *pd.FakeState) { s.Stores[5].Labels = map[string]string{"zone": "a"} })
	look(3*time.Second, func(s *pd.FakeState) { s.Stores[4].Labels = map[string]string{"engine": "tiflash", "zone": "a"} })
	look(3*time.Second, func(s *pd.FakeState) { s.Leader = "pd-1" })
	look(-1, func(s *pd.FakeState) { s.Unreachable = true })
	look(6*time.Second, func(s *pd.FakeState) { s.Unreachable = false })
}
