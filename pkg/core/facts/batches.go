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
	// Domain returns the failure domain of a member, "" where it is not known. All members of a batch are in the same
	// domain.
	Domain func(Component, state.Member) string
}

// Batches returns the members of a StatefulSet in the order in which a rollout restarts them. The first batch is the
// highest ordinal alone, so that a template that fails takes one member down. Then one domain comes after the other. Within
// a domain the next batch need not wait for the leaders of the batch before. Without Batching
// each batch has one member, from the highest ordinal down, because a partition can only be lowered.
//
// The batches follow from the members and from where the members are, and not from how far a rollout is. So a run that
// continues the rollout of another run has the same batches.
func (c Component) Batches() [][]state.Member {
	var all [][]state.Member
	members := c.Got.InSet()
	slices.Reverse(members)
	if c.Batching == nil || len(members) == 0 {
		for _, m := range members {
			all = append(all, []state.Member{m})
		}
		return all
	}
	all = append(all, members[:1])
	for _, domain := range c.byDomain(members) {
		if domain[0].Ordinal == members[0].Ordinal {
			domain = domain[1:]
		}
		all = slices.AppendSeq(all, slices.Chunk(domain, c.Batching.Most))
	}
	return all
}

// byDomain groups members by their failure domains. A member whose domain is not known is in a group of its own.
func (c Component) byDomain(members []state.Member) [][]state.Member {
	var all [][]state.Member
	index := map[string]int{}
	for _, m := range members {
		at := c.Batching.Domain(c, m)
		i, is := index[at]
		if !is || at == "" {
			index[at], all = len(all), append(all, []state.Member{m})
			continue
		}
		all[i] = append(all[i], m)
	}
	return all
}

// nextInRollout returns the first member, in the order of the batches, that a rollout is to restart. Of a batch, a member
// whose pod is being deleted comes last, because the restart of that member has begun.
func (c Component) nextInRollout() (state.Member, bool) {
	if c.Batching == nil {
		return c.Highest(c.rolloutRestarts)
	}
	for _, b := range c.Batches() {
		left := slices.DeleteFunc(slices.Clone(b), func(m state.Member) bool { return !c.rolloutRestarts(m) })
		if len(left) == 0 {
			continue
		}
		i := slices.IndexFunc(left, func(m state.Member) bool { return m.Pod == nil || !m.Pod.Terminating })
		return left[max(i, 0)], true
	}
	return state.Member{}, false
}

// BatchOf returns the members of the batch of a member. A member that a user has named is restarted alone.
func (c Component) BatchOf(m state.Member) []state.Member {
	if c.Batching == nil || !c.rolloutRestarts(m) {
		return []state.Member{m}
	}
	for _, b := range c.Batches() {
		if state.Has(b, m) {
			return b
		}
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
	return slices.DeleteFunc(slices.Clone(c.BatchOf(m)), func(o state.Member) bool { return o.Up() && !c.WaitsForRestart(o) })
}

// SameDomain reports whether two members may be restarted in the same batch, for all that their places mean.
func (c Component) SameDomain(a, b state.Member) bool {
	if c.Batching == nil {
		return false
	}
	domain := c.Batching.Domain(c, a)
	return domain != "" && domain == c.Batching.Domain(c, b)
}
