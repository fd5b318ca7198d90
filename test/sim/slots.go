package sim

import (
	"math/rand/v2"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// The model numbers the members of a component from 0, without gaps. With Slots the engine sees other ordinals for the
// same members, in the same order, as those of an AdvancedStatefulSet are. So the engine must go by the ordinals that a
// StatefulSet has, and not by their number.

// drawSlots gives one simulated cluster in five ordinals with gaps. That is drawn separately, so that the other runs stay
// as they are.
func drawSlots(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 37))
	if rng.IntN(5) > 0 {
		return
	}
	for n := range 2 * limit {
		if rng.IntN(3) == 0 {
			o.Slots = append(o.Slots, n)
		}
	}
}

// ordinals returns the ordinals of the first members of a component.
func (w *Model) ordinals(members int) topology.Ordinals {
	return topology.Ordinals{Count: members, Slots: w.Slots}
}

// ordinal returns the ordinal of a member, or of the member that the next scale-out adds.
func (w *Model) ordinal(i int) int { return w.ordinals(i+1).End() - 1 }

// numberOf returns how many ordinals are below one.
func (w *Model) numberOf(ordinal int) int {
	i := 0
	for w.ordinal(i) < ordinal {
		i++
	}
	return i
}

// index returns the number of a member in the model.
func (w *Model) index(k topology.Kind, name string) (int, bool) {
	n, ok := w.cluster.Ordinal(k, name)
	return w.numberOf(n), ok
}

// member returns the component of a member and its number in the model.
func (w *Model) member(name string) (k topology.Kind, i int, ok bool) {
	k, n, ok := w.cluster.Member(name)
	return k, w.numberOf(n), ok
}
