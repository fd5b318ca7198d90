package render

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Merge returns a live object, changed to the wanted one. Labels and annotations of others stay.
// Values that the cluster has given stay too, such as addresses and node ports of a Service. So do
// values that other steps change, such as the replicas of a StatefulSet. Neither argument is
// changed.
//
// It is an error if the object has another owner.
func Merge(live, wanted runtime.Object) (runtime.Object, error) {
	switch live := live.(type) {
	case *corev1.Service:
		if wanted, ok := wanted.(*corev1.Service); ok {
			return mergeService(live, wanted)
		}
	case *corev1.ConfigMap:
		if wanted, ok := wanted.(*corev1.ConfigMap); ok {
			return mergeConfigMap(live, wanted)
		}
	case *appsv1.StatefulSet:
		if wanted, ok := wanted.(*appsv1.StatefulSet); ok {
			return mergeSet(live, wanted)
		}
	}
	return nil, fmt.Errorf("merge a %T into a %T: no such objects are made here", wanted, live)
}

func mergeConfigMap(live, wanted *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	result := live.DeepCopy()
	result.TypeMeta = wanted.TypeMeta
	result.Data = maps.Clone(wanted.Data)
	return result, mergeMeta(&result.ObjectMeta, wanted.ObjectMeta)
}

func mergeService(live, wanted *corev1.Service) (*corev1.Service, error) {
	result := live.DeepCopy()
	result.TypeMeta = wanted.TypeMeta
	if err := mergeMeta(&result.ObjectMeta, wanted.ObjectMeta); err != nil {
		return nil, err
	}
	result.Spec = *wanted.Spec.DeepCopy()
	keepAllocated(&result.Spec, live.Spec)
	setLastApplied(&result.ObjectMeta, result.Spec)
	// These fields follow from the addresses, which cannot be changed. No spec of ours has the
	// fields, so they are not in the record.
	result.Spec.ClusterIPs = slices.Clone(live.Spec.ClusterIPs)
	result.Spec.IPFamilies = slices.Clone(live.Spec.IPFamilies)
	if result.Spec.IPFamilyPolicy == nil {
		result.Spec.IPFamilyPolicy = live.Spec.IPFamilyPolicy
	}
	if result.Spec.Type == corev1.ServiceTypeLoadBalancer && result.Spec.LoadBalancerClass == nil {
		result.Spec.LoadBalancerClass = live.Spec.LoadBalancerClass
	}
	return result, nil
}

// keepAllocated keeps what the cluster has given to a Service where the wanted spec does not set
// it.
func keepAllocated(spec *corev1.ServiceSpec, given corev1.ServiceSpec) {
	if given.ClusterIP != "" {
		// It can not be changed, also if the user asks for another one later.
		spec.ClusterIP = given.ClusterIP
	}
	if spec.HealthCheckNodePort == 0 && needsHealthCheck(*spec) {
		spec.HealthCheckNodePort = given.HealthCheckNodePort
	}
	if spec.Type != corev1.ServiceTypeNodePort && spec.Type != corev1.ServiceTypeLoadBalancer {
		return
	}
	for i := range spec.Ports {
		p := &spec.Ports[i]
		for _, g := range given.Ports {
			if p.NodePort == 0 && g.Port == p.Port && protocol(g) == protocol(*p) {
				p.NodePort = g.NodePort
			}
		}
	}
}

func needsHealthCheck(spec corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeLoadBalancer &&
		spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

func protocol(p corev1.ServicePort) corev1.Protocol {
	if p.Protocol == "" {
		return corev1.ProtocolTCP
	}
	return p.Protocol
}

func mergeSet(live, wanted *appsv1.StatefulSet) (*appsv1.StatefulSet, error) {
	result := live.DeepCopy()
	result.TypeMeta = wanted.TypeMeta
	if err := mergeMeta(&result.ObjectMeta, wanted.ObjectMeta); err != nil {
		return nil, err
	}
	applied, _ := lastApplied[appsv1.StatefulSetSpec](live.ObjectMeta)
	spec := &result.Spec
	spec.Template = *wanted.Spec.Template.DeepCopy()
	spec.UpdateStrategy = *wanted.Spec.UpdateStrategy.DeepCopy()
	if rolling := spec.UpdateStrategy.RollingUpdate; rolling != nil {
		// Closed for as many pods as there are or will be.
		if now := closedPartition(live); rolling.Partition == nil || *rolling.Partition < now {
			rolling.Partition = &now
		}
	}
	setLastApplied(&result.ObjectMeta, *spec)

	// The record does not have what follows, so that it stays. An update strategy that was set by
	// hand stays until the spec asks for another strategy than before. Additions of others stay.
	if byHand(live, applied) && strategyType(applied) == strategyType(wanted.Spec) {
		spec.UpdateStrategy = *live.Spec.UpdateStrategy.DeepCopy()
	} else {
		delete(result.Annotations, topology.AnnotationInBatches)
	}
	putsBack := wanted.Annotations[annPutBack] != ""
	if state.IsAdvanced(live.APIVersion) && !putsBack && Template(live) == fingerprint(wanted.Spec.Template) {
		// The API server fills in no defaults there, so another text with the same meaning would be another revision.
		spec.Template = *live.Spec.Template.DeepCopy()
		return result, nil
	}
	old := applied.Template
	spec.Template.Labels = union(foreign(live.Spec.Template.Labels, old.Labels), spec.Template.Labels)
	spec.Template.Annotations = union(foreign(live.Spec.Template.Annotations, old.Annotations), spec.Template.Annotations)
	return result, nil
}

// byHand reports whether the live update strategy is OnDelete, unlike the one that was applied.
func byHand(live *appsv1.StatefulSet, applied appsv1.StatefulSetSpec) bool {
	return strategyType(live.Spec) == appsv1.OnDeleteStatefulSetStrategyType && strategyType(applied) != strategyType(live.Spec)
}

// foreign returns the entries that were not applied by us. The record that very old
// operators kept in the template counts as foreign: to drop it would restart every pod.
func foreign(live, applied map[string]string) map[string]string {
	result := map[string]string{}
	for k, v := range live {
		if _, ours := applied[k]; !ours || k == annLastApplied {
			result[k] = v
		}
	}
	return result
}

func mergeMeta(live *metav1.ObjectMeta, wanted metav1.ObjectMeta) error {
	if c := metav1.GetControllerOf(live); c == nil {
		live.OwnerReferences = append(live.OwnerReferences, wanted.OwnerReferences...)
	} else if w := metav1.GetControllerOf(&wanted); w != nil && c.UID != w.UID {
		return fmt.Errorf("%s belongs to %s %s", live.Name, c.Kind, c.Name)
	}
	live.Labels = union(live.Labels, wanted.Labels)
	live.Annotations = union(live.Annotations, wanted.Annotations)
	return nil
}
