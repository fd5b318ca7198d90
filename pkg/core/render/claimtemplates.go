package render

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// immutableClaims returns the changes of claim templates that are refused in any case: volumes that come or go, and
// another VolumeAttributesClass.
func immutableClaims(at *field.Path, comp component, live *appsv1.StatefulSet) field.ErrorList {
	existing := map[string]corev1.PersistentVolumeClaimSpec{}
	for _, c := range live.Spec.VolumeClaimTemplates {
		existing[c.Name] = c.Spec
	}
	var errs field.ErrorList
	for _, c := range comp.claims {
		old, ok := existing[c.Name]
		delete(existing, c.Name)
		if !ok {
			errs = append(errs, field.Forbidden(comp.claimField(at, c.Name),
				fmt.Sprintf("volume %s can not be added to an existing %s", c.Name, comp.Kind.Title())))
			continue
		}
		attributes := c.Spec.VolumeAttributesClassName
		if attributes != nil && (old.VolumeAttributesClassName == nil || *old.VolumeAttributesClassName != *attributes) {
			errs = append(errs, field.Forbidden(at.Child("volumeAttributesClassName"), fmt.Sprintf(
				"the class of volume %s can not be changed by this version", c.Name)))
		}
	}
	for _, c := range live.Spec.VolumeClaimTemplates {
		if _, left := existing[c.Name]; left {
			errs = append(errs, field.Forbidden(at.Child(comp.claimsAt),
				fmt.Sprintf("volume %s can not be taken from an existing %s", c.Name, comp.Kind.Title())))
		}
	}
	return errs
}

// claimField returns the field of the spec with the size of a claim.
func (c component) claimField(at *field.Path, name string) *field.Path {
	if name == string(c.Kind) {
		return at.Child("requests", "storage")
	}
	return at.Child(c.claimsAt)
}

// needsNewClaims returns the changes of claim templates that no claim can follow, and what the user can do. They are
// another storage class, a smaller size, and a size that the storage class does not let a volume grow to. They are
// refused until a user has asked for new claims in place of the present ones.
func needsNewClaims(comp component, live *appsv1.StatefulSet, got state.Group) (field.ErrorList, remedy.Remedy) {
	if live == nil || (desired.Group{Group: comp.Group}).ReplacesAny(got) {
		return nil, nil
	}
	at := field.NewPath("spec", string(comp.Kind))
	var errs field.ErrorList
	for _, want := range comp.claims {
		have := claimTemplate(live, want.Name)
		if have == nil {
			continue
		}
		if reason := unresizable(want, have.Spec, got); reason != "" {
			errs = append(errs, field.Forbidden(comp.claimField(at, want.Name), reason))
		}
		if otherClass(have, &want) && !allOfClass(got, want) {
			errs = append(errs, field.Forbidden(at.Child("storageClassName"), fmt.Sprintf(
				"volume %s has storage class %q, and only a new volume can have class %s", want.Name, storageClass(have.Spec), classOf(want.Spec))))
		}
	}
	if len(errs) == 0 || comp.Kind.Data() == topology.None {
		return errs, nil
	}
	return errs, remedy.Remedy{remedy.Run("give all members new volumes, one after another, when the spec says so", comp.cluster.Plugin("replace", "--all-of", string(comp.Kind)))}
}

// allOfClass reports whether members have claims and all of these have the wanted storage class. Then only the
// StatefulSet is made again, for example where somebody writes the name of the default class into the spec.
func allOfClass(got state.Group, want corev1.PersistentVolumeClaim) bool {
	found := false
	for _, m := range got.InSet() {
		for _, c := range m.Claims {
			switch {
			case c.Template != want.Name:
			case c.Class != classOf(want.Spec):
				return false
			default:
				found = true
			}
		}
	}
	return found
}

// unresizable returns why a volume cannot get the wanted size, "" if it can or has it. A claim that
// is larger than wanted is no reason. It was made larger by hand, or a growth was taken back before
// it was done.
func unresizable(want corev1.PersistentVolumeClaim, template corev1.PersistentVolumeClaimSpec, got state.Group) string {
	have, size := topology.SizeOf(*template.Resources.Requests.Storage()), templateSize(&want)
	switch {
	case size == have:
		return ""
	case size < have:
		return fmt.Sprintf("volume %s has %s, and volumes can not shrink to %s", want.Name, have, size)
	}
	for _, m := range got.InSet() {
		for _, c := range m.Claims {
			if c.Template == want.Name && !c.Marked && !c.Holds(size) && c.Growth == state.NotGrowable {
				return fmt.Sprintf("claim %s can not grow from %s to %s: %s", c.Name, max(c.Requested, c.Capacity), size, plan.Rigid(c))
			}
		}
	}
	return ""
}
