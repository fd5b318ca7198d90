package plan

import (
	"fmt"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// notDriven returns a gate for each component with pods that are not controlled by a StatefulSet of the kind that the
// cluster has. Nothing may be created beside their controller: it would be a second controller for
// pods of the same names. It also returns a gate for each StatefulSet without a pod for a member with data.
func notDriven(w desired.State, s state.Snapshot) []Gate {
	gates := leftOut(w, s)
	for _, g := range w.Groups {
		if other := s.Groups[g.Kind].Set.Other; other != "" {
			gates = append(gates, Gate{
				Component: g.Kind, Object: w.Cluster.SetName(g.Kind), Blocked: true,
				Reason: PodOwnerSupported, Want: "one kind of StatefulSet", Observed: other + " exists as well",
				Remedy: remedy.Remedy{remedy.Run("delete the StatefulSet that controls no pod; list both",
					w.Cluster.Kubectl("get", "statefulsets.apps,statefulsets."+topology.AdvancedGroup))},
			})
		}
		for _, m := range s.Groups[g.Kind].Members {
			if m.Pod == nil || m.Pod.Controller == "" {
				continue
			}
			gates = append(gates, Gate{
				Component: g.Kind, Member: m.Name, Blocked: true,
				Reason: PodOwnerSupported, Want: "pod controlled by a StatefulSet of " + setGroup(w.Cluster),
				Observed: m.Pod.Controller,
				Remedy: remedy.Remedy{remedy.Run("leave this cluster to tidb-operator: other controllers of pods are not supported; see them",
					w.Cluster.Kubectl("get", "pod", m.Name, "-o", "jsonpath={.metadata.ownerReferences}"))},
			})
			break
		}
	}
	return gates
}

// setGroup returns the API group of the StatefulSets of a cluster.
func setGroup(c topology.Cluster) string {
	if c.Advanced {
		return topology.AdvancedGroup
	}
	return "apps/v1"
}

// leftOut returns a gate for each StatefulSet with a first ordinal above that of a member with data. Kubernetes deletes
// the pod of such a member and makes another one at the top, as soon as somebody raises spec.ordinals.start. Nobody has
// asked in the TidbCluster for the removal of that member, so the database must not remove it for good.
func leftOut(w desired.State, s state.Snapshot) []Gate {
	var gates []Gate
	for _, g := range w.Groups {
		got := s.Groups[g.Kind]
		i := slices.IndexFunc(got.Members, func(m state.Member) bool { return m.Ordinal < got.Set.Start && m.CountedOn() })
		if i < 0 || g.Kind.Data() == topology.None {
			continue
		}
		m, name := got.Members[i], w.Cluster.SetName(g.Kind)
		gates = append(gates, Gate{
			Component: g.Kind, Member: m.Name, Object: name, Blocked: true,
			Reason: OrdinalsKept, Want: "StatefulSet has the pods of all members",
			Observed: fmt.Sprintf("StatefulSet %s has spec.ordinals.start %d, and PD counts on %s", name, got.Set.Start, m.Name),
			Remedy: remedy.Remedy{remedy.Run("put the field back; Kubernetes then replaces the pods from the other end, one without the checks of this plugin",
				w.Cluster.Kubectl("patch", "statefulset", name, "--type", "merge", "-p", fmt.Sprintf(`{"spec":{"ordinals":{"start":%d}}}`, m.Ordinal)))},
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
