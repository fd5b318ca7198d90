package component_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

const (
	manyZones = 3
	// leadersEach is how many region leaders each store has before the rollout.
	leadersEach = 2000
	// terminates is how long a pod takes to end, and serves how long the next one takes until Kubernetes and PD call the
	// store up.
	terminates, serves = 3 * time.Second, 20 * time.Second
	// pollsAtLeast is how long the engine waits at most while nothing changes.
	pollsAtLeast = 5 * time.Second
)

// manyStores is a cluster whose stores a rollout restarts, with a clock of its own. Decisions are real. What PD and
// Kubernetes do is a small model, so that the time of hours can be measured in seconds.
type manyStores struct {
	*plantest.Cluster
	profiles []plan.Profile
	all      []state.Member // the stores
	moves    int            // leaders that PD moves in a second, for evictions first, then for balance
	taker    int            // the store that took a leader last
	changed  bool
	decided  time.Time
	pods     int

	decisions, mostDown, mostLeaders int
	zonesDown                        int           // the most zones with a store that is down
	deciding                         time.Duration // on the real clock
	ended                            bool
	spent                            map[string]int // seconds of the rollout, by what stores do
}

func newManyStores(stores, moves int, c plan.Concurrency) *manyStores {
	w := &manyStores{
		Cluster: plantest.New(3, stores, 2).Roll(tikv), profiles: component.Profiles(), moves: moves, changed: true,
		spent: map[string]int{},
	}
	w.Policy.Concurrency = c
	pd := &w.Seen.PD
	pd.LocationLabels, pd.IsolationLevel = []string{"zone", "host"}, "zone"
	regions := stores * leadersEach
	pd.Isolation = state.Isolation{
		Regions: regions, Apart: map[string]int{"zone": regions}, Pass: 10 * time.Second,
		LabelsSince: plantest.Now.Add(-time.Hour),
	}
	pd.Placement.Rules = [][]state.PlacementRule{{{
		Group: "pd", ID: "default", Role: "voter", Count: 3, LocationLabels: pd.LocationLabels, IsolationLevel: "zone",
	}}}
	w.all = w.Seen.Groups[tikv].Members
	for i := range w.all {
		m := &w.all[i]
		m.Database.Leaders, m.Database.Regions = leadersEach, manyZones*leadersEach
		m.StoreLabels = map[string]string{"zone": string(rune('a' + i%manyZones)), "host": m.Name}
	}
	return w
}

// run goes on to the end of the rollout, for a virtual day at most.
func (w *manyStores) run() {
	for !w.ended && w.took() < 24*time.Hour {
		w.decide()
		w.measure()
		w.Seen.At = w.Seen.At.Add(time.Second)
		w.replacePods()
		w.moveLeaders()
	}
}

func (w *manyStores) took() time.Duration { return w.Seen.At.Sub(plantest.Now) }

// floor is how long the moves of leaders take with nothing else. All leaders leave their store once, also those of the
// last zone. The leaders of each other zone come back, so that stores lead equally many before the next zone begins.
// Counted are neither the leaders that come back after the rollout, nor those that move a second time.
func (w *manyStores) floor() time.Duration {
	leave := len(w.all) * leadersEach
	back := leave * (manyZones - 1) / manyZones
	return time.Duration(leave+back) * time.Second / time.Duration(w.moves)
}

// decide is a turn of the engine. It has one when something has changed, or after a while.
func (w *manyStores) decide() {
	if !w.changed && w.Seen.At.Sub(w.decided) < pollsAtLeast {
		return
	}
	w.changed, w.decided = false, w.Seen.At
	begun := time.Now()
	p := plan.Decide(w.profiles, w.Policy, w.Wanted, w.Seen)
	w.decisions, w.deciding = w.decisions+1, w.deciding+time.Since(begun)
	w.Policy.Waits = w.Policy.Waits.After(p, w.Seen.At)
	for _, s := range p.Steps {
		w.apply(s)
	}
	w.ended = p.Outcome == plan.Converged
}

// apply is what follows from a step at once.
func (w *manyStores) apply(next step.Step) {
	w.changed = true
	_, name := next.Target()
	switch s := next.(type) {
	case step.HoldRegions:
		w.Policy.Held = w.Seen.At
	case step.BeginBatches:
		w.Set(tikv, func(set *state.Set) { set.InBatches, set.Partition = true, 0 })
	case step.EndBatches:
		w.Set(tikv, func(set *state.Set) { set.InBatches = false })
	case step.Close:
		w.Set(tikv, func(set *state.Set) { set.Partition = s.Partition })
	case step.EvictLeaders:
		w.forget(s.StoreID)
		e := state.Eviction{StoreID: s.StoreID, Member: name, Since: w.Seen.At, Leaders: s.Leaders}
		w.Seen.Evictions = append(w.Seen.Evictions, e)
		w.Member(name).Database.Evicting = true
	case step.AllowLeaders:
		w.Member(name).Database.Evicting = false
		i := slices.IndexFunc(w.Seen.Evictions, func(e state.Eviction) bool { return e.StoreID == s.StoreID })
		if w.Seen.Evictions[i].Ended = w.Seen.At; !s.Returning {
			w.forget(s.StoreID)
		}
	case step.ForgetRecord:
		w.forget(s.StoreID)
	case step.Restart:
		if s.Revision == "" {
			w.Set(tikv, func(set *state.Set) { set.Partition = s.Ordinal })
		}
		w.stop(w.Member(name))
	default:
		panic("manystores: what follows from it: " + next.String())
	}
}

func (w *manyStores) forget(store uint64) {
	w.Seen.Evictions = slices.DeleteFunc(w.Seen.Evictions, func(e state.Eviction) bool { return e.StoreID == store })
}

// stop deletes the pod of a store. After a lower partition the controller does that: the partition reaches no other
// outdated pod.
func (w *manyStores) stop(m *state.Member) {
	m.Pod.Terminating, m.Pod.Ready, m.Pod.Since = true, false, w.Seen.At
	m.NotServing, m.ReportedDown = w.Seen.At, w.Seen.At
	m.Database.Healthy, m.Database.State = false, state.StoreDisconnected
}

// replacePods ends pods, makes new ones, and has them serve when their time has come.
func (w *manyStores) replacePods() {
	set, up, rolled := w.Seen.Groups[tikv].Set, 0, true
	for i := range w.all {
		m := &w.all[i]
		since := w.Seen.At.Sub(m.Pod.Since)
		switch {
		case m.Pod.Terminating && since >= terminates:
			w.pods++
			pod := *m.Pod
			pod.UID, pod.Revision, pod.Terminating = fmt.Sprintf("new-%d", w.pods), set.Next(m.Ordinal), false
			pod.Made, pod.Since, pod.Started = w.Seen.At, w.Seen.At, w.Seen.At
			m.Pod, w.changed = &pod, true
		case !m.Pod.Terminating && !m.Pod.Ready && since >= serves:
			m.Pod.Ready, m.Pod.Since, w.changed = true, w.Seen.At, true
			m.NotServing, m.ReportedDown = time.Time{}, time.Time{}
			m.Database.Healthy, m.Database.State = true, state.StoreUp
		}
		if m.Up() {
			up++
		}
		rolled = rolled && m.Up() && m.Pod.Revision == set.UpdateRevision
	}
	if rolled && !set.InBatches && !set.Completed() {
		w.Set(tikv, func(s *state.Set) { s.CurrentRevision = s.UpdateRevision })
		w.changed = true
	}
	pd := &w.Seen.PD
	pd.UpStores, pd.Isolation.Unsound = up, map[string]int{"pending-peer": (len(w.all) - up) * manyZones * leadersEach}
}

// measure notes what the cluster is like in a second.
func (w *manyStores) measure() {
	down, leave, zones := 0, false, map[int]bool{}
	for _, m := range w.all {
		w.mostLeaders = max(w.mostLeaders, m.Database.Leaders)
		leave = leave || m.Up() && m.Database.Evicting && m.Database.Leaders > 0
		if !m.Up() {
			down++
			zones[m.Ordinal%manyZones] = true
		}
	}
	w.mostDown, w.zonesDown = max(w.mostDown, down), max(w.zonesDown, len(zones))
	w.spent[map[[2]bool]string{
		{true, true}: "both", {true, false}: "evicting", {false, true}: "down", {false, false}: "neither",
	}[[2]bool{leave, down > 0}]]++
}

// ratio returns how many times longer than the moves of leaders alone the rollout takes.
func (w *manyStores) ratio() float64 { return w.took().Seconds() / w.floor().Seconds() }

// BenchmarkManyStores measures how long the restart of 300 stores takes in the model, beside moves of leaders alone.
func BenchmarkManyStores(b *testing.B) {
	for _, moves := range []int{400, 100} {
		for _, c := range []plan.Concurrency{{Number: 1}, {Number: 10}, {Number: 25}, {Number: 25, Percent: true}} {
			b.Run(fmt.Sprintf("moves=%d/concurrency=%s", moves, c), func(b *testing.B) {
				var w *manyStores
				for b.Loop() {
					w = newManyStores(300, moves, c)
					w.run()
				}
				b.ReportMetric(w.took().Minutes(), "minutes")
				b.ReportMetric(w.floor().Minutes(), "floor-minutes")
				b.ReportMetric(w.ratio(), "ratio")
				b.ReportMetric(float64(w.mostDown), "most-down")
				b.ReportMetric(float64(w.mostLeaders)/leadersEach, "most-leaders/average")
				b.ReportMetric(float64(w.decisions), "decisions")
				b.ReportMetric(float64(w.deciding.Milliseconds())/float64(w.decisions), "ms/decision")
				for what, seconds := range w.spent {
					b.ReportMetric(float64(seconds)/60, "minutes-"+what)
				}
			})
		}
	}
}

// TestManyStores: a rollout in batches reaches all stores, keeps to one zone and the concurrency, and is much faster.
func TestManyStores(t *testing.T) {
	ratios := map[int]float64{}
	for _, concurrency := range []int{1, 10} {
		w := newManyStores(60, 400, plan.Concurrency{Number: concurrency})
		w.run()
		for _, m := range w.all {
			if m.Pod.Revision != "v2" || !m.Up() {
				t.Errorf("concurrency %d: %s has revision %s, up: %t", concurrency, m.Name, m.Pod.Revision, m.Up())
			}
		}
		if !w.ended || w.mostDown > concurrency || w.zonesDown > 1 {
			t.Errorf("concurrency %d: ended: %t, %d stores down, in %d zones", concurrency, w.ended, w.mostDown, w.zonesDown)
		}
		ratios[concurrency] = w.ratio()
	}
	if ratios[10] > ratios[1]/2 {
		t.Errorf("ten at a time take %.2f of the floor, one at a time %.2f", ratios[10], ratios[1])
	}
}
