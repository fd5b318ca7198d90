package finding

import "github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"

// canaryHeld returns the rollouts that wait for a person to promote their canary.
func canaryHeld(l Look) []Finding {
	var all []Finding
	for _, g := range l.Plan.Gates {
		if g.Approval {
			all = append(all, Finding{Component: g.Component, Seen: g.String(), Remedy: g.Remedy})
		}
	}
	return all
}

// unlessCanary finds nothing while all that is left to do waits for a canary: no run would do it.
func unlessCanary(find func(Look) []Finding) func(Look) []Finding {
	return func(l Look) []Finding {
		if l.Plan.Outcome == plan.Canary {
			return nil
		}
		return find(l)
	}
}
