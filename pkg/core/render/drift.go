package render

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
)

// To see whether an object must be written, the wanted spec is compared with what was applied last.
// It is read from the record, and never from the live spec, which has the defaults of an API
// server. Labels and annotations that others have added are never a reason to write. The tool's own
// are no reason either, because otherwise every StatefulSet would be written in every turn.

// setDrift compares everything but the replicas and the partition, because these have
// steps of their own.
func setDrift(live, wanted *appsv1.StatefulSet) desired.Drift {
	if live == nil {
		return desired.Missing
	}
	if text := live.Annotations[annLastApplied]; text != "" && text == wanted.Annotations[annLastApplied] {
		return drift(sameMeta(live.ObjectMeta, wanted.ObjectMeta)) // to read the record takes longer
	}
	applied, ok := lastApplied[appsv1.StatefulSetSpec](live.ObjectMeta)
	return drift(ok &&
		Template(live) == fingerprint(wanted.Spec.Template) &&
		strategyType(applied) == strategyType(wanted.Spec) &&
		sameMeta(live.ObjectMeta, wanted.ObjectMeta))
}

func strategyType(spec appsv1.StatefulSetSpec) appsv1.StatefulSetUpdateStrategyType {
	if spec.UpdateStrategy.Type == "" {
		return appsv1.RollingUpdateStatefulSetStrategyType
	}
	return spec.UpdateStrategy.Type
}

// serviceDrift compares a Service, without the addresses and ports that the cluster has given.
func serviceDrift(live, wanted *corev1.Service) desired.Drift {
	if live == nil {
		return desired.Missing
	}
	applied, ok := lastApplied[corev1.ServiceSpec](live.ObjectMeta)
	if !ok {
		return desired.Differs
	}
	want := wanted.Spec.DeepCopy()
	keepAllocated(want, applied)
	return drift(equality.Semantic.DeepEqual(applied, *want) && sameMeta(live.ObjectMeta, wanted.ObjectMeta))
}

// configMapDrift compares all of the data: the ConfigMap is ours.
func configMapDrift(live, wanted *corev1.ConfigMap) desired.Drift {
	if live == nil {
		return desired.Missing
	}
	return drift(maps.Equal(live.Data, wanted.Data) && sameMeta(live.ObjectMeta, wanted.ObjectMeta))
}

func drift(same bool) desired.Drift {
	if same {
		return desired.None
	}
	return desired.Differs
}

// sameMeta reports whether live has the wanted labels and annotations, and a
// controller. An object that lost its controller is adopted.
func sameMeta(live, wanted metav1.ObjectMeta) bool {
	return covers(live.Labels, wanted.Labels) &&
		covers(live.Annotations, withoutOwn(wanted.Annotations)) &&
		metav1.GetControllerOf(&live) != nil
}

func withoutOwn(annotations map[string]string) map[string]string {
	result := maps.Clone(annotations)
	for _, key := range []string{annLastApplied, annOwnerGeneration, annSyncTimestamp} {
		delete(result, key)
	}
	return result
}
