package sim

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// drawReplacements has users ask for new volumes of members, in one run of four. That is drawn separately, so that the
// other runs stay as they are.
func drawReplacements(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 41))
	if rng.IntN(4) == 0 {
		o.Faults.Replace = pick(rng, 1./300, 1./100)
	}
}

// Replace is the user who asks for new volumes of a member, with a spare member or without.
func (w *Model) Replace(name string, spare bool) {
	k, i, _ := w.member(name)
	c := w.claims[kindOf(k)][i]
	if c == nil {
		return
	}
	w.note("user: replace %s, spare member %t", name, spare)
	if w.replaced == nil {
		w.replaced = map[string]topology.MemberReplacement{}
	}
	w.replaced[name] = topology.MemberReplacement{Claims: []string{c.uid}, At: w.Now(), Spare: spare, WaitBalanced: kindOf(k).data() == topology.Store && w.t%3 == 0}
}

// replaceAny is the user who asks for new volumes of any member, now and then for other volumes of all, or calls a
// replacement off. There may be several at the same time.
func (w *Model) replaceAny() {
	switch w.rng.IntN(8) {
	case 0, 1:
		w.otherVolumes()
		return
	case 2:
		w.callOffAny()
		return
	}
	if k, i, p := w.anyPod(); p != nil && w.Intent.wants(k, i) {
		w.Replace(w.names[k][i], k.data() == topology.Store && w.rng.IntN(2) == 0)
	}
}

// callOffAny is the user who calls the replacement of any member off, begun or not.
func (w *Model) callOffAny() {
	names := slices.Sorted(maps.Keys(w.replaced))
	if len(names) == 0 {
		return
	}
	if name := names[w.rng.IntN(len(names))]; !w.cannotStay(name) {
		w.note("user: call the replacement of %s off", name)
		delete(w.replaced, name)
	}
}

// replacedOf returns the requests for members of a component.
func (w *Model) replacedOf(k kind) map[string]topology.MemberReplacement {
	var all map[string]topology.MemberReplacement
	for name, r := range w.replaced {
		if _, is := w.index(kinds[k], name); is {
			if all == nil {
				all = map[string]topology.MemberReplacement{}
			}
			all[name] = r
		}
	}
	return all
}

// replaces reports whether a member is still to get new volumes because the user has named it.
func (w *Model) replaces(k kind, i int) bool {
	return w.Intent.wants(k, i) && w.claimReplaced(k, i)
}

// renews reports whether a member without data restarts to get new volumes, or did so when the engine observed.
func (w *Model) renews(k kind, i int) bool {
	return k.data() == topology.None && (w.replaces(k, i) || w.seen.replaces[k][i])
}

// claimReplaced reports whether the user has asked for a claim in place of the one that a member has, wanted or not.
func (w *Model) claimReplaced(k kind, i int) bool {
	r, named := w.replaced[w.names[k][i]]
	return named && w.claims[k][i] != nil && w.claims[k][i].uid == r.Claims[0]
}

// replacesAny reports whether a member of a component is still to get new volumes.
func (w *Model) replacesAny(k kind) bool {
	for i := range limit {
		if w.replaces(k, i) {
			return true
		}
	}
	return false
}

// spareOf returns how many members more a component is to have until all members that were named are replaced.
func (w *Model) spareOf(k kind) int {
	for i := range limit {
		if w.replaces(k, i) && w.replaced[w.names[k][i]].Spare {
			return 1
		}
	}
	return 0
}

// callOff takes a replacement back that cannot go on, as a gate offers. For a member whose node was deleted, the gate offers
// the replacement itself.
func (w *Model) callOff(g plan.Gate) {
	args, offered := advised(g, "tidb", "replace")
	if !offered || !g.Blocked {
		return
	}
	name := args[3]
	if name == "--cancel" {
		for name := range w.replaced {
			if w.cannotStay(name) {
				return // it is refused
			}
		}
		w.note("user: call all replacements off")
		w.replaced = nil
		return
	}
	component, i, _ := w.member(name)
	if c := w.claims[kindOf(component)][i]; c != nil && c.noNode && !w.claimReplaced(kindOf(component), i) {
		w.Replace(name, false) // its node does not come back
		return
	}
	if slices.Contains(args, "--wait-balanced=false") {
		w.note("user: wait for no balance")
		for name, r := range w.replaced {
			r.WaitBalanced = false
			w.replaced[name] = r
		}
		return
	}
	r, asked := w.replaced[name]
	if asked && w.cannotStay(name) {
		r.Spare = r.Spare || slices.Contains(args, "--spare")
		w.replaced[name] = r
		return // to call the replacement off is refused
	}
	if asked {
		w.note("user: call the replacement of %s off", name)
		delete(w.replaced, name)
	}
}

// ClaimsOf returns the UIDs of the claims of a component's members, in the order of ordinals.
func (w *Model) ClaimsOf(component topology.Kind) []string {
	var all []string
	for _, c := range w.claims[kindOf(component)] {
		if c != nil {
			all = append(all, c.uid)
		}
	}
	return all
}

// Leaving reports whether a store is offline.
func (w *Model) Leaving() bool {
	return slices.ContainsFunc(w.stores, func(s *store) bool { return s.state == state.StoreOffline })
}

// KeepRegions has PD move no regions off any store for a while.
func (w *Model) KeepRegions(seconds int64) {
	for _, s := range w.stores {
		s.stays = w.t + seconds
	}
}
