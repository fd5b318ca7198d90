package render

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// setLastApplied records the spec in the object's own annotation, in the
// operator's format: plain JSON of the complete spec.
func setLastApplied[Spec appsv1.StatefulSetSpec | corev1.ServiceSpec](m *metav1.ObjectMeta, spec Spec) {
	data, err := json.Marshal(spec)
	if err != nil {
		// These types hold nothing that JSON can not express.
		panic("render: encode a spec: " + err.Error())
	}
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[annLastApplied] = string(data)
}

// lastApplied reads the record back. If it is missing or damaged, it is not known what was applied,
// and the object must be written.
func lastApplied[Spec appsv1.StatefulSetSpec | corev1.ServiceSpec](m metav1.ObjectMeta) (spec Spec, ok bool) {
	text := m.Annotations[annLastApplied]
	if text == "" {
		return spec, false
	}
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		var none Spec
		return none, false
	}
	return spec, true
}
