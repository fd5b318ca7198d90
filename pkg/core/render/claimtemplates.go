package render

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// immutableClaims returns the changes of claim templates that are refused in any case. Kubernetes lets a claim have another
// VolumeAttributesClass, and not none any more. No volume can be added. The controller of StatefulSets tries to give each
// pod the volumes of all claim templates, which the API server refuses. Until that pod is made again, the controller makes
// none of the pods above, so that a member which loses its pod would stay down.
func immutableClaims(at *field.Path, comp component, live *appsv1.StatefulSet) field.ErrorList {
	var errs field.ErrorList
	for _, c := range comp.claims {
		old := claimTemplate(live, c.Name)
		if old == nil {
			errs = append(errs, field.Forbidden(comp.claimField(at, c.Name), fmt.Sprintf(
				"volume %s can not be added to an existing %s: Kubernetes makes no new pods as long as a pod lacks a volume of its StatefulSet",
				c.Name, comp.Kind.Title())))
			continue
		}
		have := old.Spec.VolumeAttributesClassName
		if c.Spec.VolumeAttributesClassName == nil && have != nil && *have != "" {
			errs = append(errs, field.Forbidden(at.Child("volumeAttributesClassName"), fmt.Sprintf(
				"volume %s has VolumeAttributesClass %s, and Kubernetes lets a claim go to another class, and not to none", c.Name, *have)))
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

// needsNewClaims returns the changes of claim templates that claims cannot follow, and what the user can do. They are
// another storage class, a smaller size, and a size that the storage class does not let a volume grow to. So are volumes
// that are removed or mounted at another path. They are refused until a user has asked for new claims in place of
// all claims that cannot follow.
func needsNewClaims(comp component, live, set *appsv1.StatefulSet, got state.Group) (field.ErrorList, remedy.Remedy) {
	if live == nil {
		return nil, nil
	}
	at := topology.FieldOf(comp.cluster.Source, comp.Kind)
	errs := otherVolumes(at, comp, OtherVolumes(comp.Kind, live, set), got)
	for _, want := range comp.claims {
		have := claimTemplate(live, want.Name)
		if have == nil {
			continue
		}
		claims := comp.claimsOf(got, want.Name)
		if reason := unresizable(want, have.Spec, claims); reason != "" {
			errs = append(errs, field.Forbidden(comp.claimField(at, want.Name), reason))
		}
		if otherClass(have, &want) && !claims.canHaveClass(classOf(want.Spec)) {
			errs = append(errs, field.Forbidden(at.Child("storageClassName"), fmt.Sprintf(
				"volume %s has storage class %q, and only a new volume can have class %s", want.Name, storageClass(have.Spec), classOf(want.Spec))))
		}
	}
	if len(errs) == 0 {
		return nil, nil
	}
	return errs, remedy.Remedy{remedy.Run("give all members new volumes, one after another, when the spec says so", comp.cluster.Plugin("replace", "--all-of", string(comp.Kind)))}
}

// otherVolumes refuses volumes that are removed or mounted at another path as long as a member with data would
// start with these. Only a member that is replaced may. Until the StatefulSet is made again, no member has the new volumes.
func otherVolumes(at *field.Path, comp component, differ bool, got state.Group) field.ErrorList {
	if comp.Kind.Data() == topology.None {
		return nil
	}
	wanted := desired.Group{Group: comp.Group}
	for _, m := range got.InSet() {
		if (differ && len(m.Claims) > 0 || !wanted.HasVolumes(m)) && comp.InSpec(m.Ordinal) && !wanted.Replaces(m) {
			return field.ErrorList{field.Forbidden(at.Child(comp.claimsAt), fmt.Sprintf(
				"%s has other volumes than the spec asks for, and only a member that is replaced can have these", m.Name))}
		}
	}
	return nil
}

// claimsOf are the claims of one volume, of members that are in the spec.
type claimsOf struct {
	// stay are the claims for which nobody has asked for new ones.
	stay []state.Claim
	// replaced reports whether there are other ones.
	replaced bool
}

// claimsOf returns the claims of a volume. Members that leave take theirs along.
func (c component) claimsOf(got state.Group, template string) claimsOf {
	var all claimsOf
	for _, m := range got.InSet() {
		for _, claim := range m.Claims {
			switch {
			case claim.Template != template || !c.InSpec(m.Ordinal):
			case c.ReplacesClaim(claim.UID):
				all.replaced = true
			case !claim.Terminating:
				all.stay = append(all.stay, claim)
			}
		}
	}
	return all
}

// canHaveClass reports whether all claims that stay have the wanted storage class. Where no claim is replaced, only the
// StatefulSet is made again. So it is where somebody writes the name of the default class into the spec.
func (all claimsOf) canHaveClass(class string) bool {
	other := func(c state.Claim) bool { return c.Class != class }
	return len(all.stay) > 0 && !slices.ContainsFunc(all.stay, other) || len(all.stay) == 0 && all.replaced
}

// unresizable returns why a volume cannot get the wanted size, "" if it can or has it. A claim that
// is larger than wanted is no reason while the template is not. It was made larger by hand, or a growth was taken back
// before it was done.
func unresizable(want corev1.PersistentVolumeClaim, template corev1.PersistentVolumeClaimSpec, claims claimsOf) string {
	have, size := topology.SizeOf(*template.Resources.Requests.Storage()), templateSize(&want)
	for _, c := range claims.stay {
		switch {
		case size < have && c.Requested > size:
			return fmt.Sprintf("volume %s has %s, and volumes can not shrink to %s", want.Name, have, size)
		case size > have && !c.Marked && !c.Holds(size) && c.Growth == state.NotGrowable:
			return fmt.Sprintf("claim %s can not grow from %s to %s: %s", c.Name, max(c.Requested, c.Capacity), size, plan.Rigid(c))
		}
	}
	if size < have && !claims.replaced {
		return fmt.Sprintf("volume %s has %s, and volumes can not shrink to %s", want.Name, have, size)
	}
	return ""
}
