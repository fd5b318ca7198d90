package sim

import (
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// obey does what the plan asks a person to do. With OnDelete, the person restarts the members that are to be restarted,
// or deletes their pods.
func (w *Model) obey(p plan.Plan) {
	for _, g := range p.Gates {
		if _, asked := advised(g, "delete", w.cluster.SetResource()); asked && g.Blocked {
			w.rebuild(kindOf(g.Component), g.Member)
		}
		w.parallel(g)
		w.discardLost(g)
		w.relaxRules(g)
		w.enableRulesByHand(g)
		w.unstallByHand(g)
		w.relaxTables(g)
		w.addRoom(g)
		w.askForStore(g)
		w.makeRoom(g)
		w.stopFeeds(g)
		w.keepPump(g)
		w.promote(g)
		w.restartOneByOne(g)
		w.wakePump(g)
		w.deleteRemoved(g)
		if g.Blocked && (g.Reason == plan.ClaimBeingDeleted || g.Reason == plan.ClaimsUnmarked || g.Reason == plan.EvictionsEnded) {
			w.Suspend()
		}
		w.deleteUnknownClaim(g)
		w.replacePod(g)
		w.callOff(g)
	}
}

// replacePod replaces a pod for which a gate asks a person. Other gates only say that its deletion may help.
func (w *Model) replacePod(g plan.Gate) {
	args, asked := advised(g, "delete", "pod")
	if !asked || g.Remedy[0].Text != "" && g.Reason != plan.ManualRestart {
		return
	}
	name, k := args[2], kindOf(g.Component)
	i, _ := w.index(g.Component, name)
	p := w.pods[k][i]
	if p == nil || p.terminating() {
		return
	}
	if _, offered := advised(g, "tidb", "restart"); offered && w.ByName {
		if !w.isNamed(k, i) {
			w.Restart(name)
		}
		return
	}
	w.note("user: delete pod %s, as asked", name)
	w.remove(p)
}

// deleteUnknownClaim deletes a claim as a gate asks, which has the data of a member that PD does not know. The person
// looks at PD before.
func (w *Model) deleteUnknownClaim(g plan.Gate) {
	if !g.Blocked || g.Reason != plan.ClaimFree || !w.known() {
		return
	}
	k := kindOf(g.Component)
	i, _ := w.index(g.Component, g.Member)
	if c := w.claims[k][i]; c != nil && w.pods[k][i] == nil && !w.inDatabase(k, i) {
		w.note("user: delete claim %s, which PD does not know", c.name)
		w.claims[k][i] = nil
	}
}

// advised returns the words of the first command of a gate's remedy that begins with these.
func advised(g plan.Gate, words ...string) ([]string, bool) {
	for _, a := range g.Remedy {
		for _, c := range a.Commands {
			if len(c.Args) > len(words) && slices.Equal(c.Args[:len(words)], words) {
				return c.Args, true
			}
		}
	}
	return nil, false
}

// deleteRemoved deletes the pod of a member whose log says that it was removed, as a gate asks.
func (w *Model) deleteRemoved(g plan.Gate) {
	args, asked := advised(g, "delete", "pod")
	if !asked || !g.Blocked || !strings.Contains(g.Remedy.Line(""), "the member was removed") {
		return
	}
	k := kindOf(g.Component)
	i, _ := w.index(g.Component, args[2])
	p, c := w.pods[k][i], w.claims[k][i]
	if k.data() == topology.Raft && p != nil && !p.terminating() && c != nil && w.pd.member(c.data) == nil {
		w.note("user: delete pod %s, its member was removed", args[2])
		w.remove(p)
	}
}

// discardLost answers a gate that asks whether a store that was given up can come back. It answers as a person who
// knows that the data is gone.
func (w *Model) discardLost(g plan.Gate) {
	args, asked := advised(g, "tidb", "failover")
	at := slices.Index(args, "--discard")
	if !asked || at < 0 {
		return
	}
	name := args[at+1]
	k := kindOf(g.Component)
	i, _ := w.index(g.Component, name)
	f, c := w.failure(k, name), w.claims[k][i]
	if f != nil && (c == nil || c.data != f.ID) && !slices.Contains(w.discard, name) {
		w.note("user: discard the data of %s", name)
		w.discard = append(w.discard, name)
	}
}

// needsPerson reports whether faults may happen that only a person can repair.
func (w *Model) needsPerson() bool {
	return w.Faults.Kubectl > 0 || w.Faults.LoseForGood > 0 || w.Faults.DeleteClaim > 0
}

// help does what a person must do about changes that others made in Kubernetes or PD.
func (w *Model) help() {
	w.clear()
	w.deleteEnded()
	for k := range kinds {
		w.rebuild(kind(k), "")
	}
	w.deleteLostStores()
	w.tidy()
	w.startOver()
}

// startOver does what a person must do about a PD that was suspended before it was bootstrapped. Only a person can say
// that the claims that exist already have no data.
func (w *Model) startOver() {
	if w.pd.id != 0 || !w.advice.waiting() {
		return
	}
	w.note("user: delete the StatefulSet, the pods and the claims of PD")
	w.sets[pd] = set{generation: w.sets[pd].generation + 1}
	for i := range limit {
		if w.pods[pd][i] != nil {
			w.remove(w.pods[pd][i])
		}
		w.claims[pd][i] = nil
	}
}

// rebuild does what a person must do where a partition cannot bring a new revision. This concerns a member that needs
// the revision, below members whose pods are Ready with another revision. It also concerns the member that a gate has
// named. The person deletes the StatefulSet without its pods and then the pods that fail.
func (w *Model) rebuild(k kind, named string) {
	s, above := &w.sets[k], false
	for i := range s.spec.fromTop() {
		p := w.pods[k][i]
		fails := p == nil || p.flaw != ""
		if fails && (above || w.names[k][i] == named || k.data() == topology.Raft && w.Faults.Kubectl > 0) {
			w.note("user: recreate the StatefulSet of %s and %s", kinds[k].Title(), w.names[k][i])
			s.current, s.update = w.Intent.Template[k], w.Intent.Template[k]
			s.spec.template, s.spec.mounts, s.record = s.update, w.Intent.Mounts[k], ""
			s.seen = s.spec
			s.generation++
			if p != nil {
				w.remove(p)
			}
		}
		// A Ready server that does not answer is not restarted as a server that is down. No PD can confirm that it is
		// down.
		above = above || p != nil && (p.flaw == "" || p.flaw == deaf && k.data() == topology.None)
	}
}

// parallel recreates a StatefulSet as Parallel, as a gate asks a person to do. With OrderedReady no pod is created
// while a lower pod needs higher pods to become ready.
func (w *Model) parallel(g plan.Gate) {
	if w.chaos || g.Opens() || !strings.Contains(g.Remedy.Line(""), `"podManagementPolicy":"Parallel"`) {
		return
	}
	w.note("user: recreate the StatefulSet of %s, Parallel", g.Component.Title())
	w.Ordered[kindOf(g.Component)] = false
	w.orphan(kindOf(g.Component))
}

// deleteLostStores does what a person must do about a store whose claim was deleted. PD gives the store's address to no
// other store before the store is removed.
func (w *Model) deleteLostStores() {
	for _, s := range w.stores {
		if s.elsewhere() {
			continue
		}
		c := w.claims[s.k][s.ordinal]
		if s.state == state.StoreUp && c != nil && c.data != s.id {
			w.note("user: pd-ctl store delete %d, its data is gone", s.id)
			w.offlineByHand(s)
		}
	}
}

// tidy does what a person must do about claims that others have left. Only a person can say that the claims are not
// needed.
func (w *Model) tidy() {
	for k := range kinds {
		if kind(k).data() != topology.Raft || w.pd.id != 0 {
			w.tidyClaims(kind(k))
		}
	}
}

func (w *Model) tidyClaims(k kind) {
	for i, c := range w.claims[k] {
		if c != nil && !c.marked && w.pods[k][i] == nil && (c.data == 0 || w.gone(k, i)) {
			w.note("user: delete claim %s", c.name)
			c.goneAt = w.t
		}
	}
}

// clear does what a person must do about members on a host that is lost for good. The person removes each from the
// database, and then its pod and its claim from Kubernetes.
func (w *Model) clear() {
	for k := range kinds {
		for i, p := range w.pods[k] {
			if p == nil || p.lost != never {
				continue
			}
			w.force(kind(k), i)
			c := w.claims[k][i]
			if c == nil {
				continue
			}
			w.note("user: give up what %s stored", w.names[k][i])
			w.claims[k][i] = nil
			switch kind(k).data() {
			case topology.Raft:
				w.expel(c.data)
			case topology.Store:
				// The person does this with "store delete" while no engine drives. An engine would bring a wanted store
				// that is Offline back up.
				if s := w.store(c.data); s != nil {
					s.state = state.StoreTombstone
					w.wipe(s)
				}
			}
		}
	}
}
