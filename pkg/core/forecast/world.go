package forecast

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// world is the cluster at some moment of the forecast. What the forecast changes is not shared with
// the first snapshot.
type world struct {
	profiles []plan.Profile
	policy   plan.Policy
	want     desired.State
	snap     state.Snapshot

	waits   plan.Waits
	skipped map[plan.GateKey]bool
	numbers uint64 // how many ids were given
	changed bool   // something has happened in this turn
	idle    int    // turns since anything has

	// elsewhere is what PD counts besides the members here.
	elsewhere counts
	// leaders is how many region leaders a store has when nothing keeps them away, by its id.
	leaders map[uint64]int
	// lasting are members that do not serve, and of which nothing suggests that they will by themselves.
	lasting map[string]bool
	// joining are members whose process starts, until the database reports that they serve.
	joining map[string]bool
	made    []string // claims that were made
}

// counts are numbers that PD reports of its members and stores.
type counts struct{ members, healthy, stores, up int }

func newWorld(profiles []plan.Profile, policy plan.Policy, want desired.State, now state.Snapshot) *world {
	w := &world{
		profiles: profiles, policy: policy, want: copyWanted(want), snap: copySnapshot(now), waits: policy.Waits,
		skipped: map[plan.GateKey]bool{}, leaders: map[uint64]int{}, lasting: map[string]bool{}, joining: map[string]bool{},
	}
	for _, g := range w.snap.Groups {
		for _, m := range g.Members {
			w.leaders[m.Database.ID] = m.Database.Leaders
			w.lasting[m.Name] = !m.Up() && !recovers(m, now.At)
			w.joining[m.Name] = !m.Up() && !w.lasting[m.Name] && !m.Marked()
		}
	}
	for _, e := range w.snap.Evictions {
		w.leaders[e.StoreID] = max(w.leaders[e.StoreID], e.Leaders)
	}
	if !now.PD.Known() {
		return w
	}
	here := w.here()
	w.elsewhere = counts{now.PD.Members - here.members, now.PD.Healthy - here.healthy, now.PD.Stores - here.stores, now.PD.UpStores - here.up}
	return w
}

// recovers reports whether a member that does not serve is about to serve. Its pod has not crashed,
// and has had little time.
func recovers(m state.Member, at time.Time) bool {
	p := m.Pod
	switch {
	case p == nil:
		return m.Gone.IsZero() || at.Sub(m.Gone) < facts.TimeToServe
	case !p.Last.Ended.IsZero() && p.Started.IsZero():
		return false
	}
	since := m.DownSince()
	if since.IsZero() {
		since = p.Made
	}
	return p.Terminating || at.Sub(since) < facts.TimeToServe
}

func copyWanted(w desired.State) desired.State {
	w.Objects, w.Groups = slices.Clone(w.Objects), slices.Clone(w.Groups)
	for i := range w.Groups {
		g := &w.Groups[i]
		g.Services, g.Config, g.Failures = slices.Clone(g.Services), slices.Clone(g.Config), slices.Clone(g.Failures)
	}
	return w
}

func copySnapshot(s state.Snapshot) state.Snapshot {
	s.Groups = maps.Clone(s.Groups)
	if s.Groups == nil {
		s.Groups = map[topology.Kind]state.Group{}
	}
	for k, g := range s.Groups {
		g.Members = slices.Clone(g.Members)
		g.Set.Volumes = maps.Clone(g.Set.Volumes)
		for i := range g.Members {
			m := &g.Members[i]
			m.Claims = slices.Clone(m.Claims)
			if m.Pod != nil {
				pod := *m.Pod
				m.Pod = &pod
			}
		}
		s.Groups[k] = g
	}
	s.Evictions, s.Removals, s.Drains = slices.Clone(s.Evictions), slices.Clone(s.Removals), slices.Clone(s.Drains)
	s.PD.Placement.Stores = slices.Clone(s.PD.Placement.Stores)
	return s
}

// set changes the StatefulSet of a component.
func (w *world) set(k topology.Kind, change func(*state.Set)) {
	g := w.snap.Groups[k]
	change(&g.Set)
	w.snap.Groups[k] = g
}

// group returns what is wanted of a component.
func (w *world) group(k topology.Kind) *desired.Group {
	i := slices.IndexFunc(w.want.Groups, func(g desired.Group) bool { return g.Kind == k })
	if i < 0 {
		return &desired.Group{}
	}
	return &w.want.Groups[i]
}

// members returns all members, which may be changed.
func (w *world) members(data topology.Data) []*state.Member {
	var all []*state.Member
	for _, k := range topology.Kinds() {
		if k.Data() != data {
			continue
		}
		g := w.snap.Groups[k]
		for i := range g.Members {
			all = append(all, &g.Members[i])
		}
	}
	return all
}

// member returns a member, which may be changed; one of no component if there is none.
func (w *world) member(k topology.Kind, name string) *state.Member {
	g := w.snap.Groups[k]
	for i := range g.Members {
		if g.Members[i].Name == name {
			return &g.Members[i]
		}
	}
	return &state.Member{Kind: k, Name: name}
}

// store returns the member of a store; one of no component if there is none.
func (w *world) store(id uint64) *state.Member {
	for _, m := range w.members(topology.Store) {
		if m.Database.ID == id {
			return m
		}
	}
	return &state.Member{}
}

// number returns an id that nothing has.
func (w *world) number() uint64 {
	w.numbers++
	return 1<<62 + w.numbers
}

// uid returns a UID that nothing has.
func (w *world) uid() string { return "forecast-" + strconv.FormatUint(w.number(), 10) }
