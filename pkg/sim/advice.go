package sim

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
)

// advice is what the ConfigMap tells a PD pod without data. Without any it waits.
type advice struct {
	there    bool
	founders int  // how many first members found a cluster, as long as that is to say
	cluster  bool // there is one, so nobody founds another
	judged   bool // PD has said who of the founders has yet to start
	join     bool // and whom to join
	late     [limit]bool
}

// founds: the advice for an ordinal's pod is to be one of the founders.
func (a advice) founds(i int) bool {
	return i < a.founders && (!a.cluster || a.judged && a.late[i])
}

func founding(n int) advice { return advice{there: true, founders: n} }

// waiting is the advice to wait for a PD to join: who has data founds nothing.
func (a advice) waiting() bool { return a == advice{there: true} }

// wantedAdvice is the ConfigMap for PD pods without data. Once a pod may have
// read who the founders are, that may not change until there is a cluster to
// join: two answers could found two clusters.
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
	return founding(w.Intent.Replicas[pd])
}

// begun: one of the first members has had a pod, and its log may begin with them.
func (w *Model) begun(founders int) bool {
	return slices.ContainsFunc(w.claims[pd][:founders], func(c *claim) bool { return c != nil })
}

// newcomers is the advice while PD answers: founders that it has yet to see for
// the first time go on as such, whoever else has no data joins.
func (w *Model) newcomers() advice {
	a, any := advice{there: true, founders: w.advice.founders, cluster: true, judged: true, join: true}, false
	for i := range a.founders {
		m := w.pd.memberAt(i)
		a.late[i] = (!w.advice.judged || w.advice.late[i]) && m != nil && m.named && !m.started
		any = any || a.late[i]
	}
	if !any {
		a.founders = 0
	}
	return a
}

func (w *Model) advise(a advice) {
	w.advice, w.adviceShown = a, w.t
	if w.chaos {
		w.adviceShown += int64(w.Seed+w.uids) % 60
	}
}

// advised is what a pod finds when its container starts: the kubelet shows a
// ConfigMap that has changed within a minute, and to a new pod at once.
func (w *Model) advised(p *pod) advice {
	if p.ran && w.t < w.adviceShown {
		return p.advice
	}
	return w.advice
}
