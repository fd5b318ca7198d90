package hosts

import (
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Action is one change. Each may be done again, and nothing is lost if a process ends between two.
type Action interface{ action() }

// The actions.
type (
	// Write writes the record.
	Write struct{ Record Record }
	// Mark tells the drivers of a cluster that the node is under maintenance. Unmark tells them that it
	// is not any more.
	Mark struct {
		Cluster     Cluster
		Maintenance topology.Maintenance
	}
	Unmark struct {
		Cluster Cluster
		Node    string
	}
	// Cordon and Uncordon say whether the node takes new pods.
	Cordon   struct{}
	Uncordon struct{}
	// MoveLeader makes another member lead PD.
	MoveLeader struct {
		Cluster Cluster
		Step    step.MoveLeader
	}
	// Evict makes an evict-leader scheduler, and Allow removes it.
	Evict struct {
		Cluster Cluster
		Store   uint64
	}
	Allow struct {
		Cluster Cluster
		Store   uint64
	}
	// Await waits until members serve.
	Await struct{ Cluster Cluster }
	// Forget removes the record.
	Forget struct{}
)

func (Write) action()      {}
func (Mark) action()       {}
func (Unmark) action()     {}
func (Cordon) action()     {}
func (Uncordon) action()   {}
func (MoveLeader) action() {}
func (Evict) action()      {}
func (Allow) action()      {}
func (Await) action()      {}
func (Forget) action()     {}

// Start returns what is to be done before the host is taken down, when all checks have passed. The
// record comes first. It says what this start does and what an earlier start did, so that a stop takes
// back all of that, and nothing of others. A node that was cordoned before stays cordoned, and a
// scheduler that was there before stays in PD. While PD's leader moves, nothing else is done in PD: the
// caller asks again after that.
func (h Host) Start(all []Sight, by string, at time.Time) []Action {
	r := Record{Since: at.UTC().Truncate(time.Second), By: by}
	if h.Record != nil {
		r = *h.Record
	}
	r.Cordoned = r.Cordoned || !h.Cordoned
	var marks, moves, evictions []Action
	for _, s := range all {
		c := h.Record.recordOf(s.Cluster)
		mark, marked := h.mark(s.Cluster)
		c.Members, c.Evicting = slices.Clone(c.Members), union(c.Evicting, mark.Evicting)
		for _, m := range h.Members(s) {
			if !slices.Contains(c.Members, m.Name) {
				c.Members = append(c.Members, m.Name)
			}
			if !m.CountsAsStore() || m.Database.Evicting {
				continue
			}
			c.Evicting = union(c.Evicting, []uint64{m.Database.ID})
			evictions = append(evictions, Evict{c, m.Database.ID})
		}
		if next, ok := h.moveLeader(s); ok {
			moves = append(moves, MoveLeader{c, next})
		}
		r = r.set(c)
		if !marked || !slices.Equal(mark.Evicting, c.Evicting) {
			marks = append(marks, Mark{c, topology.Maintenance{Node: h.Name, By: r.By, Since: r.Since, Evicting: c.Evicting}})
		}
	}
	var actions []Action
	if h.Record == nil || h.Record.JSON() != r.JSON() {
		actions = append(actions, Write{r})
	}
	actions = append(actions, marks...)
	if !h.Cordoned {
		actions = append(actions, Cordon{})
	}
	if len(moves) > 0 {
		// A new leader of PD may not have loaded its schedulers yet. The next call makes them.
		return append(actions, moves...)
	}
	return append(actions, evictions...)
}

// union returns the ids that are in one of two lists.
func union(a, b []uint64) []uint64 {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// moveLeader returns the step that moves the leader of PD off the host.
func (h Host) moveLeader(s Sight) (step.MoveLeader, bool) {
	from, on := h.leader(s)
	to, ok := h.successor(s)
	return step.MoveLeader{From: from.Name, To: to.Name, FromName: from.Database.Name, ToName: to.Database.Name}, on && ok
}

// Stop returns what takes the maintenance back. The node takes pods again before members are waited for.
// Pods that were deleted while the host was down have no other place if their data is there. The record
// is removed last. Where it was lost, the members are not known, and none is waited for.
func (h Host) Stop() []Action {
	if h.Record == nil {
		return nil
	}
	var actions []Action
	r := *h.Record
	if r.Cordoned {
		if h.Cordoned {
			actions = append(actions, Uncordon{})
		}
		// From now on it is not ours to uncordon: a person may cordon it while members are waited for.
		r.Cordoned = false
		actions = append(actions, Write{r})
	}
	for _, c := range r.Clusters {
		if !h.Marked {
			actions = append(actions, Await{c})
		}
		for _, id := range c.Evicting {
			actions = append(actions, Allow{c, id})
		}
		actions = append(actions, Unmark{c, h.Name})
	}
	if h.Marked {
		return actions
	}
	return append(actions, Forget{})
}

// Evicted returns the names of the stores on the host from which leaders are evicted.
func (h Host) Evicted(s Sight) []string {
	var all []string
	for _, m := range h.Members(s) {
		if m.CountsAsStore() {
			all = append(all, m.Name)
		}
	}
	return all
}
