package sim

import "github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"

// rest checks a converged cluster against what the user wants, by the truth.
func (w *Model) rest() {
	for _, k := range w.in() {
		if w.Intent.Suspend[k] {
			w.restOfSuspended(k)
			continue
		}
		w.restOfSet(k)
		w.restOfVolumes(k)
		w.restOfAttributes(k)
		if w.Mounts {
			w.restOfMounts(k)
		}
		for i := range limit {
			w.restOfMember(k, i)
		}
	}
	w.restOfRoot()
	w.restOfDDL()
	if w.Intent.Suspend[pd] {
		return
	}
	if n := len(w.pd.members); n != w.Intent.Replicas[pd]+w.Elsewhere {
		w.broke("rest", "PD has %d members", n)
	}
	if w.pd.bootstraps != 1 {
		w.broke("bootstrap", "PD was bootstrapped %d times", w.pd.bootstraps)
	}
	w.restOfStores()
	w.restOfFailures()
}

func (w *Model) restOfSet(k kind) {
	s, want := &w.sets[k], w.Intent.members(k)
	if !s.spec.same(want) || asked(s.spec.template) != w.Intent.Template[k] {
		w.broke("rest", "%s has %d replicas without %v of %s", kinds[k], s.spec.replicas, s.spec.slots.list(), s.spec.template)
	}
	if s.byHand() != w.Intent.Manual[k] || s.spec.batches {
		w.broke("rest", "%s: OnDelete %t, in batches %t", kinds[k], s.spec.manual, s.spec.batches)
	}
	if s.spec.manual {
		return // Kubernetes does not look at the rest
	}
	if s.spec.partition < want.end() {
		w.broke("rest", "%s: the rollout is open at %d", kinds[k], s.spec.partition)
	}
	if s.current != s.update {
		w.broke("rest", "%s: Kubernetes has not completed the rollout", kinds[k])
	}
}

func (w *Model) restOfMember(k kind, i int) {
	p, c := w.pods[k][i], w.claims[k][i]
	if w.Intent.wants(k, i) {
		if !w.fit(k, i) || p.revision != w.sets[k].spec.template {
			w.broke("rest", "%s does not serve, or not of %s", w.names[k][i], w.Intent.Template[k])
		}
		if w.isNamed(k, i) {
			w.broke("named", "%s has not been restarted", w.names[k][i])
		}
		if w.replaces(k, i) {
			w.broke("replaced", "%s has its old volumes", w.names[k][i])
		}
		if c != nil && c.marked {
			w.broke("rest", "%s is marked, but in use", c.name)
		}
		return
	}
	if p != nil {
		w.broke("rest", "%s is there", w.names[k][i])
	}
	if c != nil && c.marked && c.goneAt == never && w.Reclaims {
		w.broke("rest", "%s is marked, and was not reclaimed", c.name)
	}
	// The next member may use a claim that no member has written to. Kubernetes may make such a claim in
	// the moment in which its ordinal is removed.
	if c != nil && !c.marked && c.data != 0 && w.Faults.Kubectl == 0 {
		w.broke("rest", "%s is left over, but not marked", c.name)
	}
}

func (w *Model) restOfStores() {
	for _, s := range w.stores {
		if !s.elsewhere() && !w.Intent.Suspend[s.k] && s.state != state.StoreTombstone && !w.Intent.wants(s.k, s.ordinal) {
			w.broke("rest", "store %d of %s is %s", s.id, w.names[s.k][s.ordinal], s.state)
		}
		if e := w.evicts[s.id]; e != nil && e.ours {
			w.broke("rest", "store %d still gives its leaders up", s.id)
		}
	}
	for _, r := range w.removals {
		if s := w.store(r.StoreID); s == nil || s.state != state.StoreOffline {
			w.broke("rest", "the removal of store %d is over, and its record is there", r.StoreID)
		}
	}
	w.restOfPumps()
	for _, d := range w.cdc.drains {
		w.broke("rest", "the drain of %s is over, and its record is there", d.Member)
	}
	if len(w.ledger) > 0 {
		w.broke("rest", "the ledger has %d records", len(w.ledger))
	}
}
