package plan

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// askForDeletion is for a component whose update strategy leaves restarts to the user (OnDelete). Its gates ask the
// user to delete an unhealthy pod of an old revision wherever repair would restart it. A wait for such a member may
// never end.
func (sc Scope) askForDeletion(p Profile, h hold, v verdict) verdict {
	if !sc.Got.Set.Manual || h.rolling {
		return v
	}
	awaited := false // one of them
	for i := range v.gates {
		g := &v.gates[i]
		m, ok := sc.Got.Member(g.Member)
		if !ok || g.Reason != MemberServing {
			continue
		}
		awaited = true
		if o, queued := sc.MemberBefore(m); queued {
			m = o // no other gate may wait for it, since it was given up
		}
		if sc.needsNewRevision(p, m) {
			g.Blocked, g.Remedy = !g.resolves, sc.deletePod(m)
		}
	}
	for _, m := range sc.Got.BelowReplicas() {
		// While a member is waited for, each other member that is down counts too. The first may need it for a quorum.
		if (awaited && sc.Kept(m) || sc.MustServe(m)) && sc.needsNewRevision(p, m) {
			g := serving(sc, m)
			g.Blocked, g.Remedy = true, sc.deletePod(m)
			v.gates = append(v.gates, g)
		}
	}
	return v
}

// deletePod is the remedy for users who restart pods themselves.
func (sc Scope) deletePod(m state.Member) remedy.Remedy {
	return remedy.Remedy{remedy.Run("", sc.Cluster.Delete("pod", m.Name))}
}

// needsNewRevision reports whether only a pod of the update revision can help. A missing pod gets
// that revision from Kubernetes in any case. The user is asked to delete a pod only where repair
// would restart it. A store that is Disconnected for some seconds may serve, while a peer is
// missing.
func (sc Scope) needsNewRevision(p Profile, m state.Member) bool {
	return sc.Got.Outdated(m) && (sc.DownOrNoQuorum(m) || sc.Loops(m)) && sc.mayHelp(p, m) &&
		(sc.RestartIsHarmless(m) || sc.Loops(m) || sc.PeersServe(m))
}
