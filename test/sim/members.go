package sim

import (
	"iter"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// slots are numbers of members that a component is to be without, one bit for each.
type slots uint32

func (s slots) has(i int) bool { return s>>i&1 == 1 }

// list returns the numbers, the lowest first.
func (s slots) list() []int {
	var all []int
	for i := range limit {
		if s.has(i) {
			all = append(all, i)
		}
	}
	return all
}

// members are the members of a component: the first ones that are in no slot.
type members struct {
	replicas int
	slots    slots
}

// end returns the highest number of a member plus one, 0 without members.
func (m members) end() int {
	if m.slots == 0 {
		return max(m.replicas, 0)
	}
	end := 0
	for left := m.replicas; left > 0; end++ {
		if !m.slots.has(end) {
			left--
		}
	}
	return end
}

// has reports whether a number is one of a member.
func (m members) has(i int) bool { return i < m.end() && !m.slots.has(i) }

// each are the numbers that the model has room for, the lowest first.
func (m members) each() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range min(m.end(), limit) {
			if !m.slots.has(i) && !yield(i) {
				return
			}
		}
	}
}

// fromTop are the same numbers, the highest first.
func (m members) fromTop() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := min(m.end(), limit) - 1; i >= 0; i-- {
			if !m.slots.has(i) && !yield(i) {
				return
			}
		}
	}
}

// same reports whether the members have the same numbers. Slots above all members do not count.
func (m members) same(o members) bool {
	return m.replicas == o.replicas && slices.Equal(slices.Collect(m.each()), slices.Collect(o.each()))
}

// members returns the members of a component that the user asks for.
func (i *Intent) members(k kind) members { return members{i.Replicas[k], i.Slots[k]} }

// wants reports whether the user asks for a member.
func (i *Intent) wants(k kind, n int) bool { return i.members(k).has(n) }

// slotsAt returns the slots that the ordinals in a list are of, without those that no component has.
func (w *Model) slotsAt(ordinals []int) slots {
	var all slots
	for _, n := range ordinals {
		if i := w.numberOf(n); i < limit && !slices.Contains(w.Slots, n) {
			all |= 1 << i
		}
	}
	return all
}

// ordinalsIn returns the ordinals of slots, and those that no component has, the lowest first.
func (w *Model) ordinalsIn(s slots) []int {
	all := slices.Clone(w.Slots)
	for _, i := range s.list() {
		all = append(all, w.ordinal(i))
	}
	slices.Sort(all)
	return all
}

// group returns the numbers of what the user asks for of a component, by which the engine counts.
func (w *Model) group(k kind) topology.Group {
	return topology.Group{
		Kind: kinds[k], Replicas: w.Intent.Replicas[k], Slots: w.ordinalsIn(w.Intent.Slots[k]),
		Failures: w.failures[k], MaxFailures: maxFailures, Recover: w.Intent.Recover,
	}
}
