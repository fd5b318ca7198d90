package topology

import "slices"

// Ordinals are the numbers in the names of a component's pods: the lowest Count numbers from Start on that are not in
// Slots. A StatefulSet of Kubernetes has a Start (spec.ordinals.start), and no Slots. An AdvancedStatefulSet has Slots
// (annotation delete-slots), and starts with 0.
type Ordinals struct {
	Start, Count int
	Slots        []int
}

// All returns the ordinals, the lowest first.
func (o Ordinals) All() []int {
	all := make([]int, 0, o.Count)
	for n := o.Start; len(all) < o.Count; n++ {
		if !slices.Contains(o.Slots, n) {
			all = append(all, n)
		}
	}
	return all
}

// Has reports whether a number is one of the ordinals.
func (o Ordinals) Has(n int) bool {
	return n >= o.Start && n < o.End() && !slices.Contains(o.Slots, n)
}

// End returns the highest ordinal plus one, or Start where there is no ordinal. A partition of that number keeps all
// pods as they are.
func (o Ordinals) End() int {
	if len(o.Slots) == 0 {
		return o.Start + max(o.Count, 0)
	}
	end := o.Start
	for left := o.Count; left > 0; end++ {
		if !slices.Contains(o.Slots, end) {
			left--
		}
	}
	return end
}

// Changed returns the ordinals after some were added and others were removed. Slots that are wanted stay among the slots,
// also above all ordinals.
func (o Ordinals) Changed(added, removed, wanted []int) Ordinals {
	all := append(o.All(), added...)
	all = slices.DeleteFunc(all, func(n int) bool { return slices.Contains(removed, n) })
	slices.Sort(all)
	all = slices.Compact(all)
	slots := slices.DeleteFunc(slices.Clone(wanted), func(n int) bool { return slices.Contains(all, n) })
	for n := o.Start; len(all) > 0 && n < all[len(all)-1]; n++ {
		if !slices.Contains(all, n) {
			slots = append(slots, n)
		}
	}
	slices.Sort(slots)
	return Ordinals{Start: o.Start, Count: len(all), Slots: slices.Compact(slots)}
}

// Resized returns the ordinals of a StatefulSet after its replicas were changed.
func (o Ordinals) Resized(count int) Ordinals {
	o.Count = count
	return o
}

// Extended returns the ordinals with as many more as are needed for a number to be one of them.
func (o Ordinals) Extended(n int) Ordinals {
	for o.End() <= n {
		o.Count++
	}
	return o
}

// Same reports whether two StatefulSets have pods of the same names. Slots above all ordinals do not count.
func (o Ordinals) Same(other Ordinals) bool { return slices.Equal(o.All(), other.All()) }

// Within reports whether all ordinals are among other ones.
func (o Ordinals) Within(other Ordinals) bool {
	for _, n := range o.All() {
		if !other.Has(n) {
			return false
		}
	}
	return true
}
