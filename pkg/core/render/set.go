package render

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statefulSet assembles the StatefulSet of a component as it is created. Its
// partition is closed: a pod restarts only when the plan says so.
func statefulSet(comp component, configMap string) (*appsv1.StatefulSet, error) {
	c, k := comp.cluster, comp.Kind
	template, err := podTemplate(comp, configMap)
	if err != nil {
		return nil, err
	}
	if comp.kept != nil {
		template = *comp.kept
	}
	replicas, ordinals := int32(comp.Size()), comp.Ordinals()
	set := &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: setVersion(c), Kind: "StatefulSet"},
		ObjectMeta: meta(c, c.SetName(k), c.Labels(k)),
		Spec: appsv1.StatefulSetSpec{
			Replicas:             &replicas,
			Selector:             &metav1.LabelSelector{MatchLabels: c.Labels(k)},
			Template:             template,
			VolumeClaimTemplates: comp.claims,
			ServiceName:          c.PeerService(k),
			PodManagementPolicy:  comp.creation,
			UpdateStrategy:       updateStrategy(comp.Manual, int32(ordinals.End()-ordinals.Start)),
		},
	}
	set.Annotations = map[string]string{annOwnerGeneration: generation(c)}
	setLastApplied(&set.ObjectMeta, set.Spec)
	return set, nil
}

func updateStrategy(manual bool, partition int32) appsv1.StatefulSetUpdateStrategy {
	if manual {
		return appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	}
	return appsv1.StatefulSetUpdateStrategy{
		Type:          appsv1.RollingUpdateStatefulSetStrategyType,
		RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition},
	}
}
