package plan

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// held reports whether a canary keeps a member from getting the update revision: it is not one of the
// highest ordinals, as many as are asked for. A partition can reach no others first. One member at
// least is held, also where a scale-in has left no more than were asked for.
func (sc Scope) held(m state.Member) bool {
	return sc.Want.Held && m.Ordinal < max(sc.Want.Size()-sc.Want.Canary, 1)
}

// unpromoted waits for a person to promote the canary, where it keeps all members that are outdated from
// being restarted.
func (sc Scope) unpromoted() verdict {
	if m, ok := sc.outdated(); !ok || !sc.held(m) {
		return verdict{}
	}
	updated := 0
	for _, m := range sc.Got.Running() {
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
	return wait(g)
}

// canaryFindings returns what is wrong with the annotation that asks for a canary. Nothing waits for
// it as long as there is nothing to roll out.
func canaryFindings(c topology.Cluster) []desired.Finding {
	if c.CanaryProblem == "" {
		return nil
	}
	return []desired.Finding{{
		Reason: event.CanaryUnreadable,
		Text:   fmt.Sprintf("annotation %s cannot be followed, so that all rollouts are held: %s", topology.AnnotationCanary, c.CanaryProblem),
		Remedy: remedy.Remedy{
			remedy.Say("correct the annotation"),
			remedy.Run("to roll out without a canary", c.Plugin("promote")),
		},
	}}
}
