package plan

import (
	"fmt"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// stopAtCanary stops a rollout before a member that a canary holds. First it does what belongs to the restarts before
// that member.
func (d *decision) stopAtCanary(m state.Member) verdict {
	if v := d.minReadyPassed(); !v.idle() {
		return v
	}
	if v := d.pursue(d.profile.BeforeHold, m); !v.idle() {
		return v
	}
	return wait(d.unpromoted())
}

// addCanaryGate adds the gate of a canary that keeps the update revision from a member which is down. That revision may
// be the only cure. Without the gate nothing would say that a person decides about it.
func (d *decision) addCanaryGate(v verdict) verdict {
	if len(v.steps) > 0 || slices.ContainsFunc(v.gates, func(g Gate) bool { return g.Approval }) {
		return v
	}
	_, down := d.Highest(func(m state.Member) bool {
		return d.IsBeyondCanary(m) && d.Got.Outdated(m) && (!m.Up() || d.Loops(m))
	})
	if !down {
		return v
	}
	return v.plus(wait(d.unpromoted()))
}

// unpromoted returns the gate that a person opens by promoting the canary.
func (sc Scope) unpromoted() Gate {
	updated := 0
	for _, m := range sc.Got.InSet() {
		if sc.Kept(m) && !sc.Got.Outdated(m) {
			updated++
		}
	}
	g := Gate{
		Component: sc.Want.Kind, Reason: CanaryPromoted, Want: "canary promoted", Approval: true,
		Observed: fmt.Sprintf("%d of %d members updated", updated, sc.Want.Size()),
		Remedy:   remedy.Remedy{remedy.Run("to go on with the others", sc.Cluster.Plugin("promote"))},
	}
	if sc.Want.Version != "" {
		g.Observed += " (" + sc.Want.Version + ")"
	}
	if problem := sc.Cluster.CanaryProblem; problem != "" {
		g.Observed += "; " + problem
	}
	return g
}

// canaryFindings returns what is wrong with the annotation that asks for a canary. Nothing waits for
// it as long as there is nothing to roll out.
func canaryFindings(c topology.Cluster) []desired.Notice {
	if c.CanaryProblem == "" {
		return nil
	}
	return []desired.Notice{{
		Reason: event.CanaryUnreadable,
		Text:   fmt.Sprintf("annotation %s cannot be followed, so that all rollouts are held: %s", topology.AnnotationCanary, c.CanaryProblem),
		Remedy: remedy.Remedy{
			remedy.Say("correct the annotation"),
			remedy.Run("to roll out without a canary", c.Plugin("promote")),
		},
	}}
}
