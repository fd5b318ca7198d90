package render

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// immutable returns the wanted changes of a StatefulSet that Kubernetes does not make in place. An
// operator silently ignores most of them.
func immutable(comp component, wanted *appsv1.StatefulSet, have state.Existing, got state.Group) field.ErrorList {
	live := have.Sets[comp.Kind]
	if live == nil {
		return nil
	}
	at := field.NewPath("spec", string(comp.Kind))
	var errs field.ErrorList
	if live.Spec.Selector != nil && !maps.Equal(live.Spec.Selector.MatchLabels, wanted.Spec.Selector.MatchLabels) {
		errs = append(errs, field.Forbidden(field.NewPath("metadata", "labels").Key(topology.LabelInstance),
			fmt.Sprintf("StatefulSet %s selects its pods by another instance name, which can not be changed", live.Name)))
	}
	if policy(live) != policy(wanted) {
		errs = append(errs, field.Forbidden(at.Child("podManagementPolicy"),
			fmt.Sprintf("StatefulSet %s was made with %s, which can not be changed", live.Name, policy(live))))
	}
	if tls := mounts(live.Spec.Template.Spec, comp.Kind.CertificateVolume()); comp.founding != foundsNothing && tls != comp.cluster.TLS.Members {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "tlsCluster", "enabled"),
			fmt.Sprintf("it was %t when %s was made, whose members know each other by addresses with or without TLS", tls, comp.Kind.Title())))
	}
	errs = append(errs, immutableClaims(at, comp, live, got)...)
	if comp.founding == byDiscoveryServer && !have.HasDiscoveryDeployment &&
		wanted.Spec.Replicas != nil && *wanted.Spec.Replicas > replicasOf(live) {
		errs = append(errs, field.Forbidden(at.Child("replicas"),
			"new pods of PD would ask the operator's discovery server how to join, and there is none"))
	}
	return errs
}

// mounts reports whether a pod has a volume with a certificate.
func mounts(pod corev1.PodSpec, volume string) bool {
	return slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == volume && v.Secret != nil })
}

func policy(set *appsv1.StatefulSet) appsv1.PodManagementPolicyType {
	if set.Spec.PodManagementPolicy == "" {
		return appsv1.OrderedReadyPodManagement
	}
	return set.Spec.PodManagementPolicy
}

func immutableClaims(at *field.Path, comp component, live *appsv1.StatefulSet, got state.Group) field.ErrorList {
	existing := map[string]corev1.PersistentVolumeClaimSpec{}
	for _, c := range live.Spec.VolumeClaimTemplates {
		existing[c.Name] = c.Spec
	}
	var errs field.ErrorList
	for _, c := range comp.claims {
		path := at.Child(comp.claimsAt)
		if c.Name == string(comp.Kind) {
			path = at.Child("requests", "storage")
		}
		old, ok := existing[c.Name]
		delete(existing, c.Name)
		if !ok {
			errs = append(errs, field.Forbidden(path,
				fmt.Sprintf("volume %s can not be added to an existing %s", c.Name, comp.Kind.Title())))
			continue
		}
		if reason := unresizable(c, old, got); reason != "" {
			errs = append(errs, field.Forbidden(path, reason))
		}
		if attributes := c.Spec.VolumeAttributesClassName; attributes != nil {
			// With it, a change of the storage class has no effect.
			if old.VolumeAttributesClassName == nil || *old.VolumeAttributesClassName != *attributes {
				errs = append(errs, field.Forbidden(at.Child("volumeAttributesClassName"), fmt.Sprintf(
					"the class of volume %s can not be changed by this version", c.Name)))
			}
		} else if class := c.Spec.StorageClassName; class != nil &&
			(old.StorageClassName == nil || *old.StorageClassName != *class) {
			errs = append(errs, field.Forbidden(at.Child("storageClassName"), fmt.Sprintf(
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
