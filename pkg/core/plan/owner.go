package plan

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// notDriven names the pods that are controlled by something else than a
// StatefulSet of Kubernetes, one gate for each component. Next to their controller
// nothing may be made: it would be a second one for pods of the same names.
func notDriven(w Wanted, s state.Snapshot) []Gate {
	var gates []Gate
	for _, g := range w.Groups {
		for _, m := range s.Groups[g.Kind].Members {
			if m.Pod == nil || m.Pod.Controller == "" {
				continue
			}
			gates = append(gates, Gate{
				Component: g.Kind, Member: m.Name, Blocked: true,
				Reason: PodOwnerSupported, Want: "a pod that a StatefulSet of apps/v1 controls",
				Observed: "its controller is " + m.Pod.Controller,
				Remedy: remedy.Remedy{remedy.Run("leave this cluster to tidb-operator: other controllers of pods are not supported; see them",
					w.Cluster.Kubectl("get", "pod", m.Name, "-o", "jsonpath={.metadata.ownerReferences}"))},
			})
			break
		}
	}
	return gates
}

// lacking is a verdict on a component whose pods lack something: nothing that
// takes a pod away or prepares for that, since the next one could not start, and no
// other wait, since none of them ends.
func (sc Scope) lacking(v verdict) verdict {
	if len(sc.Want.Lacks) == 0 {
		return v
	}
	kept := verdict{gates: sc.Want.Lacks, notes: v.notes}
	for _, s := range v.steps {
		switch s.(type) {
		case EvictLeaders, MoveLeader:
			continue
		}
		if !Disruptive(s) {
			kept.steps = append(kept.steps, s)
		}
	}
	return kept
}

// mounted are the ConfigMaps that pods use already.
func mounted(objects []Object) []Object {
	var all []Object
	for _, o := range objects {
		if o.Mounted && o.Drift == Missing {
			all = append(all, o)
		}
	}
	return all
}
