package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// leaderUnreached waits while the voters' leader, or so many voters that they may be a quorum, cannot be asked. Such a
// PD serves everybody else. PD would lose its quorum if a member were restarted, removed or replaced because it cannot
// be asked. Only the template is uploaded, so that a pod that a person deletes gets the template. A member that says
// itself that it follows no leader is repaired, because it is in no quorum.
func (sc Scope) leaderUnreached(p Profile, h hold) verdict {
	unreached := sc.All.PD.Unreached
	if p.Kind.Data() != topology.Raft || len(unreached) == 0 {
		return verdict{}
	}
	g := Gate{
		Component: p.Kind, Reason: PDLeaderReachable, Want: "PD's leader reachable from here",
		Observed: sc.All.PD.Problem, Source: FromDatabase, Remedy: reach(*sc.Cluster, *sc.Got, unreached),
	}
	if _, here := sc.Got.Member(unreached[0]); here && len(unreached) == 1 {
		g.Member = unreached[0]
	}
	v := verdict{steps: sc.upload().steps, gates: []Gate{g}}
	switch next, ok := sc.Candidate(); {
	case !ok:
	case slices.Contains(sc.All.PD.Unled, next.Name):
		v.steps = sc.repair(p, h).steps
	case !sc.Got.Set.Manual:
		v.gates = append(v.gates, sc.unledBelow(p, next)...)
	}
	return v
}

// unledBelow asks a person about members that follow no leader. The rollout reaches these only after a member that may
// serve. PD cannot be asked about the member above, so that nothing else would ever give the members below the new
// template.
func (sc Scope) unledBelow(p Profile, next state.Member) []Gate {
	var gates []Gate
	for _, m := range sc.Got.BelowReplicas() {
		if !slices.Contains(sc.All.PD.Unled, m.Name) || !sc.Got.Outdated(m) || !sc.mayHelp(p, m) {
			continue
		}
		g := serving(sc, m)
		g.Blocked, g.Observed = true, "follows no leader of PD"
		g.Remedy = sc.recreateAdvice(m, fmt.Sprintf("the new one reaches it only after %s, of which PD cannot be asked", next.Name))
		gates = append(gates, g)
	}
	return gates
}

// Reach returns what a person can do about members of PD that cannot be asked from here.
func Reach(c topology.Cluster, s state.Snapshot) remedy.Remedy {
	return reach(c, s.Groups[topology.PD], s.PD.Unreached)
}

// reach returns commands that go the same way as our requests. kubectl reads logs through the kubelet of a pod's host.
func reach(c topology.Cluster, got state.Group, unreached []string) remedy.Remedy {
	var all remedy.Remedy
	var elsewhere []string
	for _, name := range unreached {
		m, here := got.Member(name)
		if !here {
			elsewhere = append(elsewhere, name)
			continue
		}
		all = append(all, remedy.Run("see whether the API server reaches the host of "+m.Name, c.Kubectl("logs", m.Name, "-c", string(m.Kind), "--tail", "5")))
	}
	if len(elsewhere) > 0 {
		all = append(all, remedy.Say("run this where "+strings.Join(elsewhere, ", ")+" can be reached"))
	}
	if c.TLS.Members {
		all = append(all, remedy.Run("see whether its certificate and ours are of one authority", remedy.Plugin(c.Namespace, "tls", "check", c.Name)))
	}
	return all
}
