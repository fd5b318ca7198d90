package facts

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// MissingElsewhere says which stores are missing that PD counts and that are members of another cluster, "" where none
// is. Such stores are peers of the stores here. Copies of TiFlash vote for nothing, so stores of TiFlash need none of
// them.
func (c Component) MissingElsewhere() string {
	if !c.Want.Kind.Leads() {
		return ""
	}
	return state.MissingElsewhere(*c.All)
}

// PeersServe reports whether all peers of a member that is to be restarted serve, here and elsewhere.
func (c Component) PeersServe(m state.Member) bool {
	return len(c.PeersMissing(m)) == 0 && c.MissingElsewhere() == ""
}

// NotServing returns those of some members that do not serve. A member that crashes again and again does not count as
// one that serves.
func (c Component) NotServing(members []state.Member) []state.Member {
	var down []state.Member
	for _, m := range members {
		if !m.Up() || c.Loops(m) {
			down = append(down, m)
		}
	}
	return down
}

// PeersMissing returns the peers of a member that is to be restarted which do not serve. A store whose pod was taken
// away by others is a peer as well. PD counts on it, and regions may have no quorum without both stores.
func (c Component) PeersMissing(m state.Member) []state.Member {
	peers := c.NotServing(slices.Concat(c.Got.InSet(), c.podsRemoved()))
	return slices.DeleteFunc(peers, func(o state.Member) bool {
		switch {
		case o.Ordinal == m.Ordinal:
			return true
		case o.Pod == nil || o.Pod.Terminating || c.Loops(o):
			return false
		}
		return c.servesUnready(o) || c.Want.Kind.Data() == topology.None && c.refuses(m) && c.refuses(o) && c.Got.Outdated(o)
	})
}

// podsRemoved returns members above the replicas whose data the database counts on.
// Voters are left out: they are counted where a quorum is.
func (c Component) podsRemoved() []state.Member {
	if c.Want.Kind.Data() != topology.Store {
		return nil
	}
	above := c.Got.OutsideSet()
	return slices.DeleteFunc(above, func(m state.Member) bool { return !m.CountedOn() })
}

// servesUnready reports whether a member serves though Kubernetes reports its pod NotReady. The
// database and the member's own port must say so, and Kubernetes must have had time to notice. If a
// readiness probe is wrong, this is true of all members, and they would wait for each other for
// ever. A process that has just started answers before it serves, and its pod may have been
// NotReady for a long time before. Where Kubernetes reports that no process runs, the report is old,
// and nobody knows when the process has started.
func (c Component) servesUnready(m state.Member) bool {
	return m.Database.Healthy && m.Database.Answer == state.Answered && !m.Pod.Started.IsZero() &&
		c.All.At.Sub(Later(m.Pod.Since, m.Pod.Started)) >= Settling
}

// refuses reports whether a server has a Ready pod and a status port that has refused connections
// for a while. Such a server need not wait for other servers of an old revision that refuse as
// well. The same setting is wrong in all of them, and they would wait for each other for ever.
func (c Component) refuses(m state.Member) bool {
	return m.Pod != nil && m.Pod.Ready && !m.Refusing.IsZero() && c.All.At.Sub(m.Refusing) >= Settling
}

// StayersMissing returns the members that stay when a member is removed, and that do not serve. Peers do not count
// whose pods Kubernetes creates only after the member is Ready. A pod that was Ready a moment ago may be Ready again,
// however often the pod has crashed, and then the peers are created. Peers do not count either that the database has
// removed, except where a voter is to go that may serve. Until the removed voter has joined again, PD has one vote less
// than the user wants, and two less without the voter to go. A voter that was given up has a replacement. A member that
// has never joined was not removed: its claims may be marked since the user did not want it for a moment. Members whose
// volumes no node can use, such as two of the same node, do not wait for each other. Without new volumes none of them
// serves again.
func (c Component) StayersMissing(except state.Member) []state.Member {
	var peers []state.Member
	pod := except.Pod
	lasting := pod == nil || !pod.Ready && c.All.At.Sub(pod.Since) >= Settling
	votes := except.Kind.Data() == topology.Raft && except.CountedOn() && !c.SurelyDown(except)
	for _, m := range c.VotingMembers(c.Got.InSet()) {
		removed := m.RemovalIrreversible() && (m.Database.Presence == state.Present || m.WasKnown())
		lost := m.LacksVolume() && except.LacksVolume()
		if m.Ordinal != except.Ordinal && c.Kept(m) && !lost && (votes || !removed) && (!c.WaitsFor(m, except) || !lasting) {
			peers = append(peers, m)
		}
	}
	return c.NotServing(peers)
}
