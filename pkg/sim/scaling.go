package sim

import "github.com/kubectl-tidb/kubectl-tidb/pkg/plan"

func (w *World) judgeShrink(k kind, i int, say sayer) {
	w.judgeLoss(k, i, say)
	switch k {
	case pd:
		if w.seen.members[i] && w.pd.memberAt(i) != nil {
			say("tombstone", "PD still counts on %s", w.names[k][i])
		}
	case tikv:
		if s := w.ownStore(i); s != nil && w.seen.stores[i] {
			say("tombstone", "store %d of %s is %s", s.id, w.names[k][i], s.state)
		}
	}
	if !w.wantedBoth(k, i) {
		return
	}
	if k == tidb || k == pd && w.seen.members[i] || k == tikv && w.seen.stores[i] {
		w.judgeWanted(k, i, say)
	}
}

// countVoter: a voter that is added while another one is missing leaves the
// quorum nothing to spare. PD itself refuses what would cost it.
func (w *World) countVoter(i int) {
	if c := w.claims[pd][i]; c != nil && c.data != 0 && w.pd.member(c.data) != nil {
		return // it is one already
	}
	w.judgeLoss(pd, i, func(string, string, ...any) { w.Soft.VotersRushed++ })
}

func (w *World) judgeClaim(s plan.DeleteClaim, say sayer) {
	k := kindOf(s.Component)
	i, _ := w.cluster.Ordinal(s.Component, s.Member)
	c := w.claims[k][i]
	switch {
	case c == nil:
	case !c.marked:
		say("data", "%s is not marked", c.name)
	case w.pods[k][i] != nil && s.PodUID == "":
		say("data", "%s is used by a pod", c.name)
	case k == tikv && w.ownStore(i) != nil:
		say("data", "%s holds store %d", c.name, c.data)
	case k == pd && c.data != 0 && w.pd.member(c.data) != nil:
		say("data", "%s holds a PD member", c.name)
	}
	if s.Reclaim && (!w.Reclaims || w.wantedBoth(k, i)) {
		say("data", "the user wants %s", w.names[k][i])
	}
}

// judgePod: a pod that is made anew has no more to lose, and does not get back
// what keeps it from serving.
func (w *World) judgePod(s plan.DeletePod, say sayer) {
	k := kindOf(s.Component)
	i, _ := w.cluster.Ordinal(s.Component, s.Member)
	c := w.claims[k][i]
	switch {
	case c != nil && c.goneAt == never:
		say("data", "%s would be used again", c.name)
	case c != nil && c.data != 0 && !w.gone(k, i):
		say("data", "%s serves with %s", s.Member, c.name)
	}
}
