package plan

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// claimsDeleted returns a gate where somebody has set in the StatefulSet that Kubernetes deletes claims of pods that
// go. It comes before PD is asked for anything: a store that PD has given up for a scale-in that cannot end would be
// stranded. when is whenScaled or whenDeleted.
func (sc Scope) claimsDeleted(when string, deletes bool) verdict {
	if !deletes {
		return verdict{}
	}
	return wait(Gate{
		Component: sc.Want.Kind, Reason: ClaimsRetained, Want: "claims stay when their pods go", Blocked: true,
		Observed: ClaimsDeletedBy(*sc.Cluster, sc.Want.Kind, sc.Got.Set, when),
		Remedy:   RetainClaims(*sc.Cluster, sc.Want.Kind, when),
	})
}

// ClaimsDeletedBy says which field makes Kubernetes delete claims, and who has written the StatefulSet last.
func ClaimsDeletedBy(c topology.Cluster, k topology.Kind, s state.Set, when string) string {
	text := fmt.Sprintf("StatefulSet %s has persistentVolumeClaimRetentionPolicy.%s: Delete", c.SetName(k), when)
	if s.Writer != "" {
		text += fmt.Sprintf(" (written last by %s)", s.Writer)
	}
	return text
}

// RetainClaims is how a person has Kubernetes keep them.
func RetainClaims(c topology.Cluster, k topology.Kind, when string) remedy.Remedy {
	return remedy.Remedy{remedy.Run("have Kubernetes keep them", c.Kubectl("patch", "statefulset", c.SetName(k), "-p",
		fmt.Sprintf(`{"spec":{"persistentVolumeClaimRetentionPolicy":{"%s":"Retain"}}}`, when)))}
}
