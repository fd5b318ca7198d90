package facts

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// Batching says how the members of a component are divided into batches. The members of a batch may be restarted
// together.
type Batching struct {
	// Most is how many members a batch has at most.
	Most int
	// domain returns the failure domain of a member, "" where it is not known. All members of a batch are in the same
	// domain.
	domain func(state.Member) string
	// divided are the batches. They are the same for a whole decision, which asks for them many times.
	divided batches
}

// batches are the members of a component, divided.
type batches struct {
	all [][]state.Member
	of  map[int]int // the indexes of the batches of members, by ordinals
}

// NewBatching returns how the members of a component are divided in one decision. Domain returns the failure domain of
// a member, "" where it is not known.
func NewBatching(c Component, most int, domain func(Component, state.Member) string) *Batching {
	b := &Batching{Most: most, domain: remembered(func(m state.Member) string { return domain(c, m) })}
	b.divided = b.divide(c.Got.InSet())
	return b
}

// remembered asks once for the domain of each member. A decision compares each member with each other one.
func remembered(domain func(state.Member) string) func(state.Member) string {
	known := map[int]string{}
	return func(m state.Member) string {
		at, is := known[m.Ordinal]
		if !is {
			at = domain(m)
			known[m.Ordinal] = at
		}
		return at
	}
}

// Batches returns the members of a StatefulSet in the order in which a rollout restarts them. The first batch is the
// highest ordinal alone, so that a template that fails takes one member down. Then one domain comes after the other.
// Within a domain the next batch need not wait for the leaders of the batch before. Without Batching each batch has one
// member, from the highest ordinal down, because a partition can only be lowered.
//
// The batches follow from the members and from where the members are, and not from how far a rollout is. So a run that
// continues the rollout of another run has the same batches.
func (c Component) Batches() [][]state.Member {
	if c.Batching != nil {
		return c.Batching.divided.all
	}
	var all [][]state.Member
	for _, m := range slices.Backward(c.Got.InSet()) {
		all = append(all, []state.Member{m})
	}
	return all
}

// divide divides members, which it reverses.
func (b *Batching) divide(members []state.Member) batches {
	if len(members) == 0 {
		return batches{}
	}
	slices.Reverse(members)
	all := [][]state.Member{members[:1:1]}
	for _, domain := range b.byDomain(members) {
		if domain[0].Ordinal == members[0].Ordinal {
			domain = domain[1:]
		}
		all = slices.AppendSeq(all, slices.Chunk(domain, b.Most))
	}
	of := make(map[int]int, len(members))
	for i, batch := range all {
		for _, m := range batch {
			of[m.Ordinal] = i
		}
	}
	return batches{all, of}
}

// byDomain groups members by their failure domains. A member whose domain is not known is in a group of its own.
func (b *Batching) byDomain(members []state.Member) [][]state.Member {
	var all [][]state.Member
	index := map[string]int{}
	for _, m := range members {
		at := b.domain(m)
		i, is := index[at]
		if !is || at == "" {
			index[at], all = len(all), append(all, []state.Member{m})
			continue
		}
		all[i] = append(all[i], m)
	}
	return all
}

// nextInRollout returns the first member, in the order of the batches, that a rollout is to restart. Of a batch, a
// member whose pod is being deleted comes last, because the restart of that member has begun.
func (c Component) nextInRollout() (state.Member, bool) {
	if c.Batching == nil {
		return c.Highest(c.rolloutRestarts)
	}
	for _, b := range c.Batches() {
		if i := slices.IndexFunc(b, c.rolloutRestarts); i >= 0 {
			stays := func(m state.Member) bool { return (m.Pod == nil || !m.Pod.Terminating) && c.rolloutRestarts(m) }
			return b[max(i, slices.IndexFunc(b, stays))], true
		}
	}
	return state.Member{}, false
}

// BatchOf returns the members of the batch of a member. A member that a user has named is restarted alone.
func (c Component) BatchOf(m state.Member) []state.Member {
	if c.Batching == nil || !c.rolloutRestarts(m) {
		return []state.Member{m}
	}
	divided := c.Batching.divided
	if i, is := divided.of[m.Ordinal]; is {
		return divided.all[i]
	}
	return []state.Member{m}
}

// RestartsNow returns the members that are restarted together now, of those that serve: an eviction that was begun for
// such a restart continues.
func (c Component) RestartsNow() []state.Member {
	next, ok := c.Candidate()
	if !ok {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.BatchOf(next)), func(m state.Member) bool {
		return !c.WaitsForRestart(m) || !m.Up() || c.LeftToUser(m)
	})
}

// Away returns the members of the batch of a member that are down, or that are still to be restarted.
func (c Component) Away(m state.Member) []state.Member {
	there := func(o state.Member) bool { return o.Up() && !c.WaitsForRestart(o) }
	return slices.DeleteFunc(slices.Clone(c.BatchOf(m)), there)
}

// SameDomain reports whether two members may be restarted in the same batch, as far as their places decide that.
func (c Component) SameDomain(a, b state.Member) bool {
	domain := c.Domain(a)
	return domain != "" && domain == c.Domain(b)
}

// Domain returns the failure domain of a member, "" where it is not known, or members restart one at a time.
func (c Component) Domain(m state.Member) string {
	if c.Batching == nil {
		return ""
	}
	return c.Batching.domain(m)
}
