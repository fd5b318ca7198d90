package sim

import "github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"

// advice is what a PD pod without data reads from the ConfigMap. Without advice it waits.
type advice struct {
	there    bool
	founders members // the first members, which bootstrap a cluster; none once that is over
	cluster  bool    // there is a cluster, so that no member bootstraps another
	judged   bool    // PD has reported which founders have yet to start
	join     bool    // and which PD to join
	late     [limit]bool
}

// founds reports whether an ordinal's pod is to be one of the founders.
func (a advice) founds(i int) bool {
	return a.founders.has(i) && (!a.cluster || a.judged && a.late[i])
}

func founding(first members) advice { return advice{there: true, founders: first} }

// waiting reports whether the advice is to wait for a PD to join.
func (a advice) waiting() bool { return a == advice{there: true} }

// wantedAdvice returns the ConfigMap for PD pods without data. Once a pod may have read who the
// founders are, the founders must not change until there is a cluster to join. Pods with two
// different lists could bootstrap two clusters.
func (w *Model) wantedAdvice() desired.Object {
	o := desired.Object{Kind: "ConfigMap", Name: w.cluster.BootstrapMap()}
	want := w.newAdvice()
	switch w.advice {
	case advice{}:
		o.Drift = desired.Missing
	case want:
	default:
		o.Drift = desired.Differs
	}
	return o
}

func (w *Model) newAdvice() advice {
	old := w.advice
	switch {
	case w.known() && w.pd.id != 0:
		return w.newcomers()
	case old.cluster:
		return old
	case w.recorded != 0:
		return advice{there: true, founders: old.founders, cluster: true}
	case (w.sets[pd].exists || w.anyPodOf(pd)) && old.there, w.begun(old.founders):
		return old
	case w.partlyUsed():
		return advice{there: true}
	}
	return founding(w.Intent.members(pd))
}

// begun reports whether one of the first members has had a pod. Then its log may begin with the
// first members.
func (w *Model) begun(founders members) bool {
	for i := range founders.each() {
		if w.claims[pd][i] != nil {
			return true
		}
	}
	return false
}

// newcomers returns the advice while PD answers. Founders that PD has never seen start as founders,
// and all other members without data join.
func (w *Model) newcomers() advice {
	a, any := advice{there: true, founders: w.advice.founders, cluster: true, judged: true, join: true}, false
	for i := range a.founders.each() {
		m := w.pd.memberAt(i)
		a.late[i] = (!w.advice.judged || w.advice.late[i]) && m != nil && m.named && !m.started
		any = any || a.late[i]
	}
	if !any {
		a.founders = members{}
	}
	return a
}

func (w *Model) advise(a advice) {
	w.advice, w.adviceShown = a, w.t
	if w.chaos {
		w.adviceShown += int64(w.Seed+w.uids) % 60
	}
}

// advised returns what a pod reads when its container starts. A new pod sees a changed ConfigMap at
// once, one that ran before up to a minute later.
func (w *Model) advised(p *pod) advice {
	if p.ran && w.t < w.adviceShown {
		return p.advice
	}
	return w.advice
}
