package render

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/certificate"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// RefusedError says that the wanted objects differ from the existing objects in fields that cannot
// be changed in place. It names the fields of the spec.
type RefusedError struct {
	Fields field.ErrorList
	Remedy remedy.Remedy // nil if only another spec helps
}

func (e *RefusedError) Error() string { return e.Fields.ToAggregate().Error() }

// Final returns true: only another spec helps.
func (e *RefusedError) Final() bool { return true }

// Want renders everything that the cluster needs and compares it with what exists. It returns a
// *RefusedError if an existing object would have to be replaced.
func Want(o state.Observation) (desired.State, error) {
	c, have, snap := o.Cluster, o.Existing, o.Snapshot
	w := desired.State{Cluster: c}
	var refused RefusedError
	founding := bootstrapMap(c, have, snap)
	if founding != nil {
		w.Objects = append(w.Objects, configMapObject(founding, have))
	}
	faults := certificate.Faults(desired.WithSpares(c, snap.Groups), snap.Certificates, snap.At)
	warnings := certificate.Warnings(c, snap.Certificates, snap.At)
	for _, g := range c.Groups {
		group, errs, err := wantGroup(c, g, have, snap, founding)
		if err != nil {
			return desired.State{}, fmt.Errorf("render %s: %w", g.Kind.Title(), err)
		}
		refused.Fields = append(refused.Fields, errs.Fields...)
		refused.Remedy = append(refused.Remedy, errs.Remedy...)
		group.Lacks = append(group.Lacks, invalid(c, g.Kind, faults)...)
		group.Notices = append(group.Notices, warned(c, g.Kind, warnings)...)
		w.Groups = append(w.Groups, group)
	}
	if len(refused.Fields) > 0 {
		return desired.State{}, remedy.For(&refused, refused.Remedy...)
	}
	return w, nil
}

func wantGroup(
	c topology.Cluster, g topology.Group, have state.Existing, snap state.Snapshot, founding *corev1.ConfigMap,
) (desired.Group, RefusedError, error) {
	back, stay := undone(have.Sets[g.Kind], snap.At)
	if set, changed := back.Manifest.(*appsv1.StatefulSet); changed {
		have.Sets = maps.Clone(have.Sets)
		have.Sets[g.Kind] = set // what others have changed is no reason to want something else
	}
	live := have.Sets[g.Kind]
	comp, err := descriptionOf(g.Kind).objects(c, g, have)
	if err != nil {
		return desired.Group{}, RefusedError{}, err
	}
	comp.live = live
	var outdated []desired.Lack
	comp.kept, comp.findings, outdated = keeps(c, g, live, snap.Templates[g.Kind])
	config, err := configMap(comp, have, snap.Groups[g.Kind])
	if err != nil {
		return desired.Group{}, RefusedError{}, err
	}
	set, err := statefulSet(comp, config.name)
	if err != nil {
		return desired.Group{}, RefusedError{}, err
	}
	refused := slices.Concat(comp.refused, config.refused, immutable(comp, set, have))
	claims, help := needsNewClaims(comp, live, set, snap.Groups[g.Kind])
	if comp.founding != byBootstrapMap {
		founding = nil // the initial members are those of PD
	}
	slots, without := unusableSlots(c, g, founding, live)
	refused, help = slices.Concat(refused, claims, slots, unstartable(comp, set)), append(help, without...)
	refused = append(refused, topology.InvalidSysctls(comp.spec.PodSecurityContext(), topology.FieldOf(c.Source, g.Kind).Child("podSecurityContext"))...)

	wanted := desired.Group{
		Group:    g,
		Lacks:    append(outdated, config.lacks...),
		Notices:  append(comp.findings, config.findings...),
		Set:      desired.Object{Kind: "StatefulSet", Name: set.Name, Drift: setDrift(live, set), Manifest: set},
		Template: fingerprint(set.Spec.Template),
	}
	wanted.Spare = wanted.SpareFor(snap.Groups[g.Kind])
	wanted.PutBack = back
	wanted.OtherVolumes = live != nil && OtherVolumes(g.Kind, live, set)
	findings, lacks := changedByOthers(c, g, live, stay)
	wanted.Notices, wanted.Lacks = append(wanted.Notices, findings...), append(wanted.Lacks, lacks...)
	wanted.Founders = firstMembers(founding)
	if live != nil {
		wanted.Set.Generation = live.Generation
	}
	if comp.kept == nil {
		wanted.Set.Record, wanted.Set.Recorded = recordOf(g, set), snap.Templates[g.Kind]
		if wanted.Set.Drift == desired.None && outOfDate(snap.Templates[g.Kind], wanted.Set.Record) {
			wanted.Set.Drift = desired.Differs
		}
	}
	if config.wanted != nil {
		o := configMapObject(config.wanted, have)
		o.Record, o.Recorded, o.Generation = wanted.Set.Record, wanted.Set.Recorded, wanted.Set.Generation
		o.Mounted = config.mounted
		wanted.Config = []desired.Object{o}
	}
	wanted.Services = serviceObjects(comp.services, have)
	return wanted, RefusedError{refused, append(config.remedy, help...)}, nil
}

func serviceObjects(services []*corev1.Service, have state.Existing) []desired.Object {
	var all []desired.Object
	for _, s := range services {
		setLastApplied(&s.ObjectMeta, s.Spec)
		o := desired.Object{Kind: "Service", Name: s.Name, Drift: serviceDrift(have.Services[s.Name], s), Manifest: s}
		if live := have.Services[s.Name]; live != nil {
			o.Version = live.ResourceVersion
		}
		all = append(all, o)
	}
	return all
}

func configMapObject(m *corev1.ConfigMap, have state.Existing) desired.Object {
	o := desired.Object{
		Kind: "ConfigMap", Name: m.Name, Drift: configMapDrift(have.ConfigMaps[m.Name], m), Manifest: m,
	}
	if live := have.ConfigMaps[m.Name]; live != nil {
		o.Version = live.ResourceVersion
	}
	return o
}
