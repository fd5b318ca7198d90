package plan

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// askForDeletion is for a component whose update strategy leaves restarts to the user (OnDelete). Its gates ask the
// user to delete an unhealthy pod of an old revision wherever repair would restart it. A wait for such a member may
// never end.
func (d *decision) askForDeletion(v verdict) verdict {
	if !d.Got.Set.Manual || d.queue.rolling {
		return v
	}
	awaited := false // one of them
	for i := range v.gates {
		g := &v.gates[i]
		m, ok := d.Got.Member(g.Member)
		if !ok || g.Reason != MemberServing {
			continue
		}
		awaited = true
		if o, queued := d.MemberBefore(m); queued {
			m = o // no other gate may wait for it, since it was given up
		}
		if d.needsNewRevision(m) {
			g.Blocked, g.Remedy = !g.resolves, d.deletePodHelp(m)
		}
	}
	for _, m := range d.Got.InSet() {
		// While a member is waited for, each other member that is down counts too. The first may need it for a quorum.
		if (awaited && d.Kept(m) || d.MustServe(m)) && d.needsNewRevision(m) {
			g := serving(d.Scope, m)
			g.Blocked, g.Remedy = true, d.deletePodHelp(m)
			v.gates = append(v.gates, g)
		}
	}
	return v
}

// deletePodHelp is the remedy for users who restart pods themselves.
func (sc Scope) deletePodHelp(m state.Member) remedy.Remedy {
	return remedy.Remedy{remedy.Run("", sc.Cluster.Delete("pod", m.Name))}
}

// needsNewRevision reports whether only a pod of the update revision can help. A missing pod gets
// that revision from Kubernetes in any case. The user is asked to delete a pod only where repair
// would restart it. A store that is Disconnected for some seconds may serve, while a peer is
// missing.
func (d *decision) needsNewRevision(m state.Member) bool {
	return d.Got.Outdated(m) && (d.DownOrNoQuorum(m) || d.Loops(m)) && d.mayHelp(m) &&
		(d.RestartIsHarmless(m) || d.Loops(m) || d.PeersServe(m))
}
