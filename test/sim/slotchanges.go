package sim

import (
	"math/bits"
	"math/rand/v2"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// mostSlots is how many members of a component users ask to be without at the same time.
const mostSlots = 3

// drawSlotChanges has users ask for other slots, in one run of four. That is drawn separately, so that the other runs
// stay as they are.
func drawSlotChanges(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 67))
	if rng.IntN(4) == 0 {
		o.Advanced, o.Faults.Slot = true, pick(rng, 1./300, 1./100)
	}
}

// SlotSeed does a random run with users who often ask for other slots.
func SlotSeed(seed uint64, trace bool) *Model {
	rng := rand.New(rand.NewPCG(seed, 2))
	o := drawn(seed, rng)
	o.Advanced, o.Many, o.Faults.Slot = true, false, pick(rng, 1./150, 1./50)
	o.TiKV = min(o.TiKV, 5)
	return lived(o, rng, trace)
}

// AskSlots is the user changing the replicas and the slots of a component in one write. The slots are numbers of
// members.
func (w *Model) AskSlots(component topology.Kind, replicas int, without ...int) {
	var all slots
	for _, i := range without {
		all |= 1 << i
	}
	w.askMembers(kindOf(component), members{replicas, all})
}

func (w *Model) askMembers(k kind, all members) {
	w.note("user: %s: %d replicas, without %v", kinds[k].Title(), all.replicas, all.slots.list())
	w.Intent.Replicas[k], w.Intent.Slots[k] = all.replicas, all.slots
}

// changeSlots is a user who asks for other slots of any component. A member leaves, or another one comes in its place,
// or one or all slots are taken back.
func (w *Model) changeSlots() {
	k := w.anyWithSlots()
	all := w.Intent.members(k)
	taken := all.slots.list()
	switch change := w.rng.IntN(7); {
	case change < 4 || len(taken) == 0:
		leaves := w.anyOf(all)
		if leaves < 0 {
			return
		}
		all.slots |= 1 << leaves
		if change != 3 {
			all.replicas-- // else another one comes
		}
		if change < 2 {
			all.slots &= 1<<all.end() - 1 // as scale --remove asks for no slots above all members
		}
	case change == 4: // exchanged
		if leaves := w.anyOf(all); leaves >= 0 {
			all.slots |= 1 << leaves
		}
		all.slots &^= 1 << taken[w.rng.IntN(len(taken))]
	case change == 5: // taken back
		all.slots &^= 1 << taken[w.rng.IntN(len(taken))]
		all.replicas += w.rng.IntN(2)
	default:
		all.slots = 0
	}
	if w.takesSlots(k, all) {
		w.askMembers(k, all)
	}
}

// anyWithSlots returns one of the components that can have slots.
func (w *Model) anyWithSlots() kind {
	for {
		if k := w.anyKind(); topology.TakesSlots(kinds[k]) {
			return k
		}
	}
}

// anyOf returns the number of any of some members, -1 without members.
func (w *Model) anyOf(all members) int {
	if all.replicas < 1 {
		return -1
	}
	n := w.rng.IntN(all.replicas)
	for i := range all.each() {
		if n == 0 {
			return i
		}
		n--
	}
	return -1
}

// takesSlots reports whether users ask for such members: not for fewer than they ever ask for, and not for more than
// the model has room for. As long as no engine knows that PD has served, package render refuses
// slots of its first members.
func (w *Model) takesSlots(k kind, all members) bool {
	if k.data() == topology.Raft && !w.advice.cluster {
		for i := range w.advice.founders.each() {
			if all.slots&(1<<i) != 0 {
				return false
			}
		}
	}
	fewest := [components]int{pd: 1, tikv: 3}[k]
	many := w.Many && [components]bool{tikv: true, tidb: true}[k]
	return all.replicas >= fewest && all.replicas <= 6 && bits.OnesCount32(uint32(all.slots)) <= mostSlots && !many
}

// takeBackSlots takes slots of TiKV back where PD's rules ask for stores in zones or of tiers, since the stores that
// are left may be none of these.
func (w *Model) takeBackSlots() {
	if w.Intent.Slots[tikv] != 0 && len(w.Zones)+len(w.Tiers) > 0 {
		w.askMembers(tikv, members{replicas: w.Intent.Replicas[tikv]})
	}
}
