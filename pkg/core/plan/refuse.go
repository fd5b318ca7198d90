package plan

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// Refusals returns what cannot be done for a wanted cluster, before anything is changed. A scale-in
// below what the data needs would never finish.
func Refusals(profiles []Profile, w desired.State, s state.Snapshot) []Gate {
	gates := notDriven(w, s)
	for _, d := range decisionsOf(profiles, &Policy{}, &w, &s) {
		g, floor := d.Want, d.profile.Floor
		if floor == nil || g.Replicas >= max(d.Got.Set.Replicas, len(d.Got.Staying())) {
			continue
		}
		if least, why, help := floor(d.Scope); g.Replicas < least {
			gates = append(gates, Gate{
				Component: g.Kind, Blocked: true,
				Reason: MinimumReplicas, Want: "at least " + remedy.Count(least, "replica", "replicas"),
				Observed: fmt.Sprintf("needs %d or more replicas, %d requested: %s", least, g.Replicas, why),
				Remedy:   append(remedy.Remedy{remedy.Say(fmt.Sprintf("ask for %d or more", least))}, help...),
			})
		}
	}
	return gates
}
