package plan

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// notDriven returns a gate for each component with pods that are not controlled by a StatefulSet of
// Kubernetes. Nothing may be created beside their controller: it would be a second controller for
// pods of the same names. It returns one as well for each StatefulSet whose ordinals do not begin at 0.
func notDriven(w desired.State, s state.Snapshot) []Gate {
	gates := renumbered(w, s)
	for _, g := range w.Groups {
		for _, m := range s.Groups[g.Kind].Members {
			if m.Pod == nil || m.Pod.Controller == "" {
				continue
			}
			gates = append(gates, Gate{
				Component: g.Kind, Member: m.Name, Blocked: true,
				Reason: PodOwnerSupported, Want: "pod controlled by a StatefulSet of apps/v1",
				Observed: m.Pod.Controller,
				Remedy: remedy.Remedy{remedy.Run("leave this cluster to tidb-operator: other controllers of pods are not supported; see them",
					w.Cluster.Kubectl("get", "pod", m.Name, "-o", "jsonpath={.metadata.ownerReferences}"))},
			})
			break
		}
	}
	return gates
}

// renumbered returns a gate for each StatefulSet whose first pod has not the ordinal 0. A member would be taken for
// another. Claims of members that run would be marked as left over, and each scale-out would lead to the next.
func renumbered(w desired.State, s state.Snapshot) []Gate {
	var gates []Gate
	for _, g := range w.Groups {
		start := s.Groups[g.Kind].Set.Start
		if start == 0 {
			continue
		}
		name := w.Cluster.SetName(g.Kind)
		gates = append(gates, Gate{
			Component: g.Kind, Object: name, Blocked: true,
			Reason: OrdinalsSupported, Want: "pods are numbered from 0",
			Observed: fmt.Sprintf("StatefulSet %s has spec.ordinals.start %d, and only 0 is supported", name, start),
			Remedy: remedy.Remedy{remedy.Run("take the field away; Kubernetes then replaces the pods from the other end, one without the checks of this plugin",
				w.Cluster.Kubectl("patch", "statefulset", name, "--type", "merge", "-p", `{"spec":{"ordinals":null}}`))},
		})
	}
	return gates
}

// keepWithoutPods reduces a verdict on a component whose pods lack something. No step may take a
// pod away or prepare for that, or make the first pods, since new pods could not start. No other
// wait is reported, since none of them ends.
func (d *decision) keepWithoutPods(v verdict) verdict {
	if len(d.Want.Lacks) == 0 {
		return v
	}
	kept := verdict{gates: d.missingObjects()}
	for _, s := range v.steps {
		switch s := s.(type) {
		case step.EvictLeaders: // it prepares for a restart
			continue
		case step.Apply:
			if s.Object.Name == d.Want.Set.Name && s.Object.Drift == desired.Missing && !d.Got.HasPods() {
				continue
			}
		}
		if !s.Disruptive() {
			kept.steps = append(kept.steps, s)
		}
	}
	return kept
}

// missingObjects returns a gate for each object that the pods need and that only a person can provide.
func (sc Scope) missingObjects() []Gate {
	var gates []Gate
	for _, l := range sc.Want.Lacks {
		component := sc.Want.Kind
		if l.Whole {
			component = ""
		}
		gates = append(gates, Gate{
			Component: component, Object: l.Object, Blocked: true, Reason: lackReasons[l.Need], Want: l.Want, Observed: l.Observed, Remedy: l.Remedy,
		})
	}
	return gates
}

// lackReasons name what pods can lack.
var lackReasons = map[desired.Need]Reason{
	desired.MountedConfigMap: ConfigMapExists, desired.KnownSpec: SpecKnown, desired.ValidCertificate: CertificateValid,
	desired.AskedVersion: TemplateAsked,
}

// mounted returns the ConfigMaps that pods use already.
func mounted(objects []desired.Object) []desired.Object {
	var all []desired.Object
	for _, o := range objects {
		if o.Mounted && o.Drift == desired.Missing {
			all = append(all, o)
		}
	}
	return all
}
