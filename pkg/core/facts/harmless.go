package facts

import (
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// HasEnded reports whether the pod of a member is in a final phase and may be deleted. Two kinds of evidence must say
// that nothing of the pod runs, and a new pod must get what the member has. With a claim that is being deleted, the
// data would go with the pod.
func (c Component) HasEnded(m state.Member) bool {
	if m.Pod == nil || !m.Pod.Ended || m.Pod.Terminating || m.Pod.Controller != "" || !m.Stopped() || m.ClaimBeingDeleted() != "" {
		return false
	}
	return m.Pod.NodeState == state.NodeReady || c.downForLong(m) || c.agreed(m) && c.PeersServe(m)
}

// RestartIsHarmless reports whether a restart of a member takes nothing away. Such a restart waits neither for leaders
// to leave nor for peers that are down. Either the process is known not to run, or two kinds of evidence have agreed for
// a while that the member does not serve. While a peer is missing, one of the two must have said so for long. Members
// without data may all fail with their template, so that none serves. Without a quorum no voter serves.
func (c Component) RestartIsHarmless(m state.Member) bool {
	if m.Stopped() || c.Unled(m) || c.neverJoined(m) {
		return true
	}
	return c.downForLong(m) || c.agreed(m) && (c.PeersServe(m) || c.peersAgreedDown(m))
}

// peersAgreedDown reports whether the peers of a member without data that are missing are known not to serve, on hosts
// that run. All members may fail with their template then. A peer whose host is lost says nothing about the template.
// Evidence about the member itself may be wrong, and the member may be the last one that serves.
func (c Component) peersAgreedDown(m state.Member) bool {
	return c.Want.Kind.Data() == topology.None && !slices.ContainsFunc(c.PeersMissing(m), func(o state.Member) bool {
		mayHaveLostHost := o.Pod == nil || o.Pod.Node != "" && o.Pod.NodeState != state.NodeReady
		return mayHaveLostHost || !o.Stopped() && !c.agreed(o)
	})
}

// Unled reports whether a voter is in no quorum. Either PD has no leader, or the voter itself says that it follows
// none, for longer than an election takes.
func (c Component) Unled(m state.Member) bool {
	return c.Want.Kind.Data() == topology.Raft && (c.All.PD.Leaderless || slices.Contains(c.All.PD.Unled, m.Name))
}

// agreed reports whether two kinds of evidence have agreed for a while that a member does
// not serve.
func (c Component) agreed(m state.Member) bool {
	both := c.Reported(m).Both
	return !both.IsZero() && c.Heard(m) && c.All.At.Sub(both) >= Settling
}

// downForLong reports whether, in addition, one of the two has said so for long. The restarts of a pod count as well.
// Each crash sets the time of the last change of the pod again, so that no run would ever see ten minutes of it.
func (c Component) downForLong(m state.Member) bool {
	return c.agreed(m) && c.All.At.Sub(c.lastingEvidence(m).First) >= TimeToServe
}

// FreeAt returns when a restart of a member is harmless by evidence that agrees already and is not old
// enough. It is zero without such evidence.
func (c Component) FreeAt(m state.Member) time.Time {
	e := c.Reported(m)
	if e.Both.IsZero() {
		return time.Time{}
	}
	at := Later(e.Both.Add(Settling), c.StoresHeard(m))
	if !c.PeersServe(m) && !c.peersAgreedDown(m) {
		at = Later(at, c.lastingEvidence(m).First.Add(TimeToServe))
	}
	return at
}

// SurelyDown reports whether it is certain enough that a member which PD knows does not serve. A
// step that cannot be taken back needs this. Two kinds of evidence must have agreed for a while, or
// must agree now while its container does not run. PD's report alone is wrong now and then: its
// health check misses a member, or a heartbeat is late.
func (c Component) SurelyDown(m state.Member) bool {
	both := c.Reported(m).Both
	return !both.IsZero() && c.Heard(m) && (m.Stopped() || c.All.At.Sub(both) >= Settling)
}

// neverJoined reports whether a process has run for a while without joining PD. The cluster does
// not use its data then.
func (c Component) neverJoined(m state.Member) bool {
	return m.Database.Presence == state.Absent && !m.Pod.Started.IsZero() && c.All.At.Sub(m.Pod.Started) >= Settling
}

// RunsUnlisted reports whether a process with a Ready pod has run for a while without joining PD. A
// process that PD has removed ends by itself, so this process has another reason, perhaps its
// template.
func (c Component) RunsUnlisted(m state.Member) bool {
	return m.Pod != nil && m.Pod.Ready && c.neverJoined(m)
}

// DownOrNoQuorum reports whether one observation says that a member is down or, as a voter, has no
// quorum. Without a quorum too few voters are there to elect a leader. A store that leaves needs
// more than one observation.
func (c Component) DownOrNoQuorum(m state.Member) bool {
	return m.IsDown() || m.Database.State == state.StoreOffline && c.SurelyDown(m) || c.Unled(m)
}

// AnyDown reports whether a wanted member is down, or is a voter without a quorum.
func (c Component) AnyDown() bool {
	for _, m := range c.Got.InSet() {
		if c.DownOrNoQuorum(m) {
			return true
		}
	}
	return false
}
