package plan

import "github.com/kubectl-tidb/kubectl-tidb/pkg/topology"

// leftAlone says of members that somebody else is removing from the database why
// they do not serve. Nothing is done about them: who did it has a reason.
func (sc Scene) leftAlone(p Profile, v verdict) verdict {
	if p.Abandoned == nil {
		return v
	}
	for i := range v.gates {
		g := &v.gates[i]
		m, ok := sc.Got.Member(g.Member)
		if !ok || g.Want != servingAgain || !sc.Kept(m) || sc.gaveUp(p, m) {
			continue
		}
		switch observed, unblock, stuck := p.Abandoned(sc, m); {
		case observed == "":
		case m.Pod == nil || !m.Pod.Ready || m.Pod.Terminating:
			g.Observed += "; " + observed // what ails the pod comes first
		default:
			g.Observed, g.Unblock, g.Blocked, g.Source = observed, unblock, stuck, FromDatabase
		}
	}
	return v
}

// PDCtl is a command that talks to PD from a pod of it that serves, if there is one.
func (sc Scene) PDCtl(args string) string {
	pod := sc.Cluster.PodName(topology.PD, 0)
	for _, m := range sc.All.Groups[topology.PD].Members {
		if m.Up() {
			pod = m.Name
			break
		}
	}
	return sc.Cluster.PDCtl(pod, args)
}
