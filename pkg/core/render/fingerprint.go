package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// fingerprint is the same for two pod templates exactly if they mean the same. An empty list or map
// is none, and quantities count by their value. The order of lists matters, the order of maps does not.
// It covers labels, annotations and the spec. It is not stored, so another release may compute
// another fingerprint.
func fingerprint(t corev1.PodTemplateSpec) string {
	t = normal(t)
	data, err := json.Marshal([]any{t.Labels, t.Annotations, t.Spec})
	if err != nil {
		panic("render: encode a pod template: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// normal returns a copy of a pod template that looks like each other one that means the same.
func normal(t corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	t = *t.DeepCopy()
	// Very old operators kept their record in the template.
	delete(t.Annotations, annLastApplied)
	normalize(reflect.ValueOf(&t).Elem())
	return t
}

// normalize makes equal values look equal. Empty maps and lists become nil. Every quantity gets the
// form that depends on its value alone, because 1Gi and 1073741824 are the same amount. A pointer
// to an empty struct stays: an empty label selector selects everything, none selects nothing.
func normalize(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			normalize(v.Elem())
		}
	case reflect.Slice:
		if v.Len() == 0 {
			v.SetZero()
		}
		for i := range v.Len() {
			normalize(v.Index(i))
		}
	case reflect.Map:
		if v.Len() == 0 {
			v.SetZero()
		}
		for _, key := range v.MapKeys() {
			entry := reflect.New(v.Type().Elem()).Elem()
			entry.Set(v.MapIndex(key))
			normalize(entry)
			v.SetMapIndex(key, entry)
		}
	case reflect.Struct:
		if q, ok := v.Addr().Interface().(*resource.Quantity); ok {
			q.RoundUp(resource.Milli) // as the API server stores it
			*q = *resource.NewDecimalQuantity(*q.AsDec(), resource.DecimalSI)
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				normalize(v.Field(i))
			}
		}
	}
}
