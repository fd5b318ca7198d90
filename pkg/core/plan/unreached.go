package plan

import (
	"cmp"
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
func (d *decision) leaderUnreached() verdict {
	unreached := d.All.PD.Unreached
	if d.Want.Kind.Data() != topology.Raft || len(unreached) == 0 {
		return verdict{}
	}
	g := Gate{
		Component: d.Want.Kind, Reason: PDLeaderReachable, Want: "PD's leader reachable from here",
		Observed: d.All.PD.Problem, Source: FromDatabase, Remedy: reach(*d.Cluster, *d.Got, unreached),
	}
	if _, here := d.Got.Member(unreached[0]); here && len(unreached) == 1 {
		g.Member = unreached[0]
	}
	v := verdict{steps: d.upload().steps, gates: []Gate{g}}
	switch next, ok := d.Candidate(); {
	case !ok:
	case slices.Contains(d.All.PD.Unled, next.Name):
		v.steps = d.repair().steps
	case !d.Got.Set.Manual:
		v.gates = append(v.gates, d.unledBelow(next)...)
	}
	return v
}

// unledBelow asks a person about members that follow no leader. The rollout reaches these only after a member that may
// serve. PD cannot be asked about the member above, so that nothing else would ever give the members below the new
// template.
func (d *decision) unledBelow(next state.Member) []Gate {
	var gates []Gate
	for _, m := range d.Got.InSet() {
		if !slices.Contains(d.All.PD.Unled, m.Name) || !d.Got.Outdated(m) || !d.mayHelp(m) {
			continue
		}
		g := serving(d.Scope, m)
		g.Blocked, g.Observed = true, "follows no leader of PD"
		g.Remedy = d.recreateAdvice(m, fmt.Sprintf("the new one reaches it only after %s, of which PD cannot be asked", next.Name))
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
		if _, theirs := c.PDPart().Ordinal(topology.PD, name); !here && (!c.UsesOtherPD() || !theirs) {
			elsewhere = append(elsewhere, name)
			continue
		}
		pod := cmp.Or(m.Name, name)
		all = append(all, remedy.Run("see whether the API server reaches the host of "+pod, c.PDPart().Kubectl("logs", pod, "-c", string(topology.PD), "--tail", "5")))
	}
	if len(elsewhere) > 0 {
		all = append(all, remedy.Say("run this where "+strings.Join(elsewhere, ", ")+" can be reached"))
	}
	if c.TLS.Members {
		all = append(all, remedy.Run("see whether its certificate and ours are of one authority", remedy.Plugin(c.Namespace, "tls", "check", c.Name)))
	}
	return all
}
