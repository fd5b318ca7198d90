package sim

import (
	"math/rand/v2"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Canary is the user asking that rollouts stop after some members of a component, and of no other one.
func (w *Model) Canary(k topology.Kind, members int) {
	w.note("user: canary %s", topology.Canary{Kind: k, Members: members})
	w.Intent.Held, w.Intent.Canary = [components]bool{}, [components]int{}
	w.Intent.Held[kindOf(k)], w.Intent.Canary[kindOf(k)] = true, members
}

// Promote is the user letting rollouts go on.
func (w *Model) Promote() {
	w.note("user: promote")
	w.Intent.Held, w.Intent.Canary = [components]bool{}, [components]int{}
}

// promote is what a person does about a gate that waits for the promotion of a canary. The person promotes
// at once when all is calm, and among faults now and then.
func (w *Model) promote(g plan.Gate) {
	if g.Approval && w.Intent.Held != [components]bool{} && (!w.chaos || w.canaries == nil || w.canaries.IntN(3) == 0) {
		w.Promote()
	}
}

// drawCanaries lets the user of one simulated cluster in four ask for canaries. That is drawn separately, so
// that the other runs stay as they are.
func (w *Model) drawCanaries() {
	rng := rand.New(rand.NewPCG(w.Seed, 13))
	if w.canaries = rng; rng.IntN(4) > 0 {
		w.canaries = nil
	}
}

// changeCanary is a user who changes the spec, and now and then asks for a canary with the change. Or the
// user promotes a canary that nobody has watched yet.
func (w *Model) changeCanary() {
	if w.canaries == nil {
		return
	}
	switch w.canaries.IntN(6) {
	case 0, 1, 2:
		k := w.in()[w.canaries.IntN(len(w.in()))]
		w.Canary(kinds[k], w.canaries.IntN(4))
	case 3:
		w.Promote()
	}
}

// held returns the wanted members that a canary does not include, none where there is no canary.
func (i *Intent) held(k kind) members {
	if !i.Held[k] {
		return members{}
	}
	rest := i.members(k)
	rest.replicas = max(rest.replicas-i.Canary[k], 1)
	return rest
}

// judgeCanary checks that no member gets the new revision before the user promotes it. This is about members
// below the canary of their component, and of components whose rollout comes later. Whether the member
// serves does not matter.
func (w *Model) judgeCanary(k kind, i int, say sayer) {
	if held := w.Intent.held(k); held.has(i) && w.seen.intent.held(k).has(i) {
		say("canary", "%d members are to stay as they are", held.replicas)
	}
	for _, e := range rollouts[:slices.Index(rollouts[:], k)] {
		asked := w.seen.intent.Held[e] && w.Intent.Held[e]
		if asked && w.seen.outdated[e] && !w.seen.refused[e] && w.seen.intent.Template[e] == w.Intent.Template[e] {
			say("canary", "the canary of %s was not promoted", kinds[e].Title())
		}
	}
}
