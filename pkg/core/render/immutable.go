package render

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// immutable returns the wanted changes of a StatefulSet that Kubernetes does not make in place. An
// operator silently ignores most of them.
func immutable(comp component, wanted *appsv1.StatefulSet, have state.Existing) field.ErrorList {
	live := have.Sets[comp.Kind]
	if live == nil {
		return nil
	}
	at := topology.FieldOf(comp.cluster.Source, comp.Kind)
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
	errs = append(errs, immutableClaims(at, comp, live)...)
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
