package sim

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// judgeLoss checks that nothing is taken away while a peer is missing.
func (w *Model) judgeLoss(k kind, victim int, say sayer) {
	w.judgeOtherPart(k, victim, say)
	if k.leads() && w.served(k, victim) && w.seen.inSight[k][victim] {
		w.judgeElsewhere(say)
	}
	for i := range limit {
		if i == victim || !w.sets[k].spec.has(i) || !w.wantedBoth(k, i) || w.neverJoined(k, i) {
			continue
		}
		if !w.excused(k, i, victim) && !w.together(k, i, victim) && (!w.noNode(k, i) || !w.noNode(k, victim)) && w.missing(k, i) && !w.behind(k, i, victim) {
			say("peer-down", "%s does not serve", w.names[k][i])
		}
	}
}

// noNode reports whether the volume of a member can be used only on a node that was deleted. Such members serve no more,
// so that none of them waits for another one.
func (w *Model) noNode(k kind, i int) bool {
	c, p := w.claims[k][i], w.pods[k][i]
	return c != nil && c.lost && c.noNode && (p == nil || !p.ran)
}

// neverJoined reports whether PD counts on no store of an ordinal. No region has a replica there, so
// none loses its quorum without it.
func (w *Model) neverJoined(k kind, i int) bool {
	counted := func(s *store) bool { return s.ordinal == i && s.state != state.StoreTombstone }
	return k.data() == topology.Store && !slices.ContainsFunc(w.stores, counted)
}

// excused reports whether no step must wait for a member, since the database has removed it. A voter
// that serves waits for a voter that PD has removed and that has no replacement. Until the removed
// voter has joined again, PD has one vote less than the user wants.
func (w *Model) excused(k kind, i, victim int) bool {
	switch {
	case !w.gone(k, i) && !w.seen.gone[k][i]:
		return false
	case k.data() != topology.Raft || !w.served(k, victim):
		return true
	}
	for _, all := range [...][]topology.Failure{w.failures[k], w.seen.failures[k]} {
		if f := failureOf(all, w.names[k][i]); f != nil && f.Deleted {
			return true
		}
	}
	return false
}

// behind reports whether a member has no pod because of OrderedReady. Kubernetes then creates no pod
// before the victim is Ready, and the victim has not been Ready for minutes, or is never for long.
// Waiting for that member would be waiting for the victim.
func (w *Model) behind(k kind, i, victim int) bool {
	if !w.Ordered[k] || w.pods[k][i] != nil || i < victim {
		return false
	}
	p := w.pods[k][victim]
	return p == nil || !p.ready && (w.t-p.since >= 120 || p.restarts >= 3 && p.last[1]-p.last[0] < 600)
}
