package sim

import (
	"math/rand/v2"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// A store that PD lists under the address of no pod, as advertise-addr in a configuration makes it. The store serves,
// and PD does not say which member it is.

// drawUnlisted has PD list stores under other addresses for a while in one simulated cluster of six. That is drawn
// separately, so that the other runs stay as they are.
func drawUnlisted(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 36))
	if rng.IntN(6) == 0 {
		o.Faults.Unlist = pick(rng, 1./300, 1./100)
	}
}

// unlist has a store announce another address.
func (w *Model) unlist() {
	k, i := tikv, w.rng.IntN(limit)
	for range limit {
		if s := w.ownStore(i); s != nil && w.pods[k][i] != nil {
			s.unlisted, s.unlistedPod = w.t+w.between(30, 900), w.pods[k][i].uid
			w.note("fault: PD lists store %d of %s under another address until %s", s.id, w.names[k][i], clock(s.unlisted))
			return
		}
		i = (i + 1) % limit
	}
}

// isUnlisted reports whether PD lists a store under an address that is the address of no pod. That ends when a process
// runs in another pod, since it announces its own address, and with the last region of the store.
func (w *Model) isUnlisted(s *store) bool {
	if s == nil || s.elsewhere() || w.t >= s.unlisted {
		return false
	}
	if p := w.pods[s.k][s.ordinal]; p != nil && p.ran && p.uid != s.unlistedPod || s.regions == 0 {
		s.unlisted = 0
		return false
	}
	return true
}

// anyUnlisted reports whether PD lists such a store of a component.
func (w *Model) anyUnlisted(k kind) bool {
	for _, s := range w.stores {
		if s.k == k && w.isUnlisted(s) && s.state != state.StoreTombstone {
			return true
		}
	}
	return false
}

// observeUnlisted is what is known of a store of which PD lists no address, as package observe has it. The store is
// unknown, and not absent, where its own port or a store of no pod contradicts its absence.
func (w *Model) observeUnlisted(k kind, i int) state.Database {
	p := w.pods[k][i]
	var d state.Database
	if s := w.storeAt(k, i); w.isUnlisted(s) && w.claims[k][i] != nil { // the label of its claim names it
		if d.Problem = "its claim has the label of a store that PD lists at the address of no pod"; p != nil && p.ran {
			d.Answer = w.storeAnswers(k, i)
		}
		return d
	}
	if p == nil || !p.ran {
		return state.Database{Presence: state.Absent}
	}
	switch answer, s := w.storeAnswers(k, i), w.storeOf(k, i); {
	case answer == state.Answered && s != nil && s.regions > 0:
		return state.Database{Problem: "PD lists no store at the address of its pod, and the store itself counts regions"}
	case answer == state.Answered:
		return state.Database{Presence: state.Absent}
	default:
		d.Answer = answer
	}
	if d.Presence = state.Absent; w.anyUnlisted(k) {
		d.Presence, d.Problem = state.Unknown, "PD lists no store at the address of its pod, and one at the address of no pod"
	}
	return d
}
