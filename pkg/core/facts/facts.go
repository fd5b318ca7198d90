// Package facts is what is known of a component and of its members in one decision. Each method answers a question about
// what was observed, such as whether a member surely does not serve. No method says what is to be done, because package
// plan reads the facts and decides.
//
// A question about one member alone is a method of state.Member. A question that needs the other members, PD or the time
// is here, so that each rule about evidence exists once.
package facts

import (
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Component is one component of a cluster: what the user wants of the component, and what was observed of it and of the
// whole cluster. Calls copy a Component, so its fields are pointers.
type Component struct {
	Cluster *topology.Cluster
	Want    *desired.Group
	Got     *state.Group
	All     *state.Snapshot
	// Batching is nil where members are restarted one at a time.
	Batching *Batching
}

// Of returns all components, in dependency order.
func Of(w *desired.State, s *state.Snapshot) []Component {
	all, got := make([]Component, len(w.Groups)), make([]state.Group, len(w.Groups))
	for i := range w.Groups {
		got[i] = s.Groups[w.Groups[i].Kind]
		all[i] = Component{Cluster: &w.Cluster, Want: &w.Groups[i], Got: &got[i], All: s}
	}
	return all
}

// Kept reports whether the user wants a member.
func (c Component) Kept(m state.Member) bool { return c.Want.Has(m.Ordinal) }

// Registering is how long a running process may take to appear in PD.
const Registering = 150 * time.Second

// TimeToServe is how long a pod may be NotReady before a person is asked for help. A first start on a
// new node, with images to pull, takes minutes.
const TimeToServe = 10 * time.Minute

// Settling is how long a new state is given to change by itself.
const Settling = 2 * time.Minute

// Proving is how long a process must run before it counts as able to serve.
const Proving = 30 * time.Second

// MembersToAdd returns the wanted members that the StatefulSet has not, the lowest ordinal first and no more than most.
func (c Component) MembersToAdd(most int) []state.Member {
	var all []state.Member
	for _, n := range c.Want.Ordinals().All() {
		if len(all) < most && !c.Got.Set.Has(n) {
			all = append(all, c.MemberAt(n))
		}
	}
	return all
}

// MembersAbove returns the members that a StatefulSet with more replicas would have, up to the last one of which
// anything was observed. Members in slots whose pods others took away come first. With OrderedReady a
// voter that PD may have removed does not come back below others. The voter might never be Ready, and pods above it
// would wait.
func (c Component) MembersAbove() []state.Member {
	set := c.Got.Set.Ordinals()
	more := set
	var all []state.Member
	for _, m := range c.Got.OutsideSet() {
		needed := c.ComesBack(m) || !c.WouldHoldUp(m) && c.PDNeeds([]state.Member{m})
		switch inSlot := slices.Contains(set.Slots, m.Ordinal); {
		case inSlot && (needed && !m.LosesClaim() || c.CountedWithData(m)):
			all = append(all, m)
		case !inSlot && m.Ordinal >= set.End():
			more = more.Extended(m.Ordinal)
		}
	}
	for _, n := range more.All()[set.Count:] {
		all = append(all, c.MemberAt(n))
	}
	return all
}

// MemberAt returns the member of an ordinal, also if nothing was observed of it.
func (c Component) MemberAt(ordinal int) state.Member {
	if m, observed := c.Got.At(ordinal); observed {
		return m
	}
	return state.Member{Kind: c.Want.Kind, Ordinal: ordinal, Name: c.Cluster.PodName(c.Want.Kind, ordinal)}
}
