package plan

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
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
		if o, queued := sc.memberBefore(m); queued {
			m = o // no other gate may wait for it, since it was given up
		}
		if sc.needsNewRevision(p, m) {
			g.Blocked, g.Remedy = !g.resolves, sc.deletePod(m)
		}
	}
	for _, m := range sc.Got.BelowReplicas() {
		// While a member is waited for, each other member that is down counts too. The first may need it for a quorum.
		if (awaited && sc.Kept(m) || sc.mustServe(p, m)) && sc.needsNewRevision(p, m) {
			g := serving(sc, m)
			g.Blocked, g.Remedy = true, sc.deletePod(m)
			v.gates = append(v.gates, g)
		}
	}
	return v
}

// mustServe reports whether a member has to serve although no gate names it. Without a lasting quorum, members that are
// to leave have to vote again. A voter that follows no leader is in no quorum, although others that cannot be reached
// from here may be one. A store that leaves may hold regions that only other leaving stores have, which do not serve
// either. No other store gets these regions before such a store runs.
func (sc Scope) mustServe(p Profile, m state.Member) bool {
	if p.Kind.Data() == topology.Raft {
		return sc.unled(p, m) || sc.pdUnreachable() || sc.quorumNeedsTheLast()
	}
	return p.Kind.Data() != topology.None && !sc.Kept(m) && countedOn(m)
}

// pdUnreachable reports whether no member of PD answers and no member of PD here is Ready.
// They crash so fast that none of them can be asked whether there is a leader.
func (sc Scope) pdUnreachable() bool {
	for _, m := range sc.Got.BelowReplicas() {
		if m.Pod != nil && m.Pod.Ready {
			return false
		}
	}
	return sc.All.PD.Problem != "" && len(sc.All.PD.Unreached) == 0
}

// quorumNeedsTheLast reports whether the last member of PD is to be removed although PD has no
// quorum without it. Members that crash again and again do not count for that quorum.
func (sc Scope) quorumNeedsTheLast() bool {
	pd, last := sc.All.PD, sc.Got.Set.Replicas-1
	lasting := pd.Healthy
	for _, m := range sc.Got.Members {
		if m.Database.Healthy && (m.Ordinal == last || sc.loops(m)) {
			lasting--
		}
	}
	return last >= sc.Want.Size() && pd.Known() && lasting < (pd.Members-1)/2+1
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
	return sc.Got.Outdated(m) && (sc.downOrNoQuorum(p, m) || sc.loops(m)) && sc.mayHelp(p, m) &&
		(sc.restartIsHarmless(p, m) || sc.loops(m) || sc.peersServe(p, m))
}
