package forecast

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// serves says what the database reports of a member that has started, by what members keep.
var serves = map[topology.Data]func(*world, *state.Member){
	topology.Raft: voterServes, topology.Store: storeServes, topology.Binlog: pumpServes, topology.None: serverServes,
}

// healthy sets what is reported of each member that serves.
func (w *world) healthy(m *state.Member) {
	d := &m.Database
	d.Presence, d.Healthy, d.Unstarted, d.Problem, d.New = state.Present, true, false, "", false
	d.Version = m.Pod.Version
	w.changed = true
}

// voterServes is a member of PD. All members that are there begin a cluster together where none is known.
func voterServes(w *world, m *state.Member) {
	pd := &w.snap.PD
	if !pd.Known() {
		for _, o := range w.members(topology.Raft) {
			if o.Pod == nil && w.snap.Groups[o.Kind].Set.Has(o.Ordinal) {
				return // others are about to start
			}
		}
		w.pdAnswers()
	}
	if m.Database.Presence != state.Present {
		m.Database.ID, m.Database.Name = w.number(), w.want.Cluster.PDName(m.Ordinal)
	}
	w.healthy(m)
}

// pdAnswers is PD that answers again, or for the first time: it knows the members that have data.
func (w *world) pdAnswers() {
	pd := &w.snap.PD
	pd.Problem, pd.Leaderless, pd.Unreached, pd.Unled, pd.Committed = "", false, nil, nil, 0
	if pd.ClusterID == 0 {
		pd.ClusterID = w.number()
	}
	pd.PumpsKnown = true
	for _, k := range topology.Kinds() {
		w.group(k).Founders = 0
		g := w.snap.Groups[k]
		for i := range g.Members {
			m := &g.Members[i]
			if m.Database.Presence == state.Unknown && k.Data() != topology.None {
				w.remember(m)
			}
		}
	}
}

// remember is what PD says of a member of which it was not known before.
func (w *world) remember(m *state.Member) {
	m.Database = state.Database{Presence: state.Absent}
	if len(m.Claims) == 0 || m.Marked() {
		return
	}
	m.Database = state.Database{Presence: state.Present, ID: w.number(), Leaders: -1, Regions: -1}
	switch m.Kind.Data() {
	case topology.Raft:
		m.Database.Name = w.want.Cluster.PDName(m.Ordinal)
	case topology.Store:
		m.Database.State, w.snap.PD.Bootstrapped = state.StoreDisconnected, true
	case topology.Binlog:
		m.Database.Pump = state.Pump{Node: m.Name, State: state.PumpOnline}
	}
}

func storeServes(w *world, m *state.Member) {
	pd := &w.snap.PD
	if !pd.Serving() {
		return
	}
	if m.Database.Presence != state.Present {
		// How many leaders and regions PD moves to a new store is not known.
		m.Database = state.Database{Presence: state.Present, ID: w.number(), Leaders: -1, Regions: -1}
		w.leaders[m.Database.ID] = -1
		pd.Placement.Stores = append(pd.Placement.Stores, state.Store{ID: m.Database.ID, State: state.StoreUp, Labels: m.StoreLabels})
		pd.Bootstrapped = true
	}
	if m.Database.State != state.StoreOffline {
		m.Database.State = state.StoreUp
	}
	w.healthy(m)
}

func pumpServes(w *world, m *state.Member) {
	if !w.snap.PD.Serving() {
		return
	}
	if m.Database.Presence != state.Present {
		m.Database = state.Database{Pump: state.Pump{Node: m.Name}}
	}
	m.Database.Pump.State = state.PumpOnline
	w.healthy(m)
}

func serverServes(w *world, m *state.Member) {
	m.Database.Answer = state.Answered
	if drains := w.drains(m.Kind); drains != state.DrainsUnknown {
		m.Database.Capture = state.Capture{ID: w.uid(), Drains: drains, Feeds: state.FeedsUnknown}
	}
	w.healthy(m)
}

// count sets what PD says about itself and its stores as a whole.
func (w *world) count() {
	pd := &w.snap.PD
	w.countCaptures()
	if !pd.Known() {
		return
	}
	here := w.here()
	pd.Members, pd.Healthy = w.elsewhere.members+here.members, w.elsewhere.healthy+here.healthy
	pd.Stores, pd.UpStores = w.elsewhere.stores+here.stores, w.elsewhere.up+here.up
	w.elect()
	w.electPrimaries()
	if pd.Healthy == 0 {
		pd.Problem = "no member of PD runs"
	}
}

// here counts the members and the stores of this cluster as PD does. Stores of TiFlash do not count,
// because they lead no regions.
func (w *world) here() counts {
	var n counts
	for _, m := range w.members(topology.Raft) {
		if m.Database.Presence == state.Present {
			n.members++
			if m.Database.Healthy {
				n.healthy++
			}
		}
	}
	for _, m := range w.members(topology.Store) {
		if m.Kind.Optional() || m.Database.Presence != state.Present || m.Database.Removed() {
			continue
		}
		n.stores++
		if m.Database.State == state.StoreUp {
			n.up++
		}
	}
	return n
}

// elect has another member lead PD where the leader has left.
func (w *world) elect() {
	pd := &w.snap.PD
	if pd.Leader != "" && w.elsewhere.healthy > 0 && !w.named(pd.Leader) {
		return // it is elsewhere
	}
	before := pd.Leader
	pd.Leader = ""
	var next *state.Member
	for _, m := range w.members(topology.Raft) {
		d := &m.Database
		d.Leader = d.Leader && d.Healthy && pd.Healthy >= pd.Quorum()
		if d.Leader {
			pd.Leader = d.Name
		}
		if next == nil && d.Healthy && d.Presence == state.Present {
			next = m
		}
	}
	if pd.Leader == "" && next != nil && pd.Healthy >= pd.Quorum() {
		next.Database.Leader, pd.Leader = true, next.Database.Name
	}
	w.changed = w.changed || pd.Leader != before
}

// named reports whether a member here has a name.
func (w *world) named(name string) bool {
	for _, m := range w.members(topology.Raft) {
		if m.Database.Name == name || m.Name == name {
			return true
		}
	}
	return false
}
