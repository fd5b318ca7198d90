package memoryapi

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// selectable are the fields by which objects of a resource can be selected, besides their name and their namespace.
var selectable = map[string][]string{
	"events": {"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid", "reason", "type"},
	"pods":   {"spec.nodeName", "status.phase"},
}

// selects reports whether objects of a resource can be selected by a field.
func selects(resource, field string) bool {
	return field == "metadata.name" || field == "metadata.namespace" || slices.Contains(selectable[resource], field)
}

// fieldsOf returns the fields by which an object can be selected.
func fieldsOf(o *object) fields.Set {
	set := fields.Set{"metadata.name": o.meta.GetName(), "metadata.namespace": o.meta.GetNamespace()}
	switch obj := o.Object.(type) {
	case *corev1.Event:
		of := obj.InvolvedObject
		set["involvedObject.kind"], set["involvedObject.namespace"] = of.Kind, of.Namespace
		set["involvedObject.name"], set["involvedObject.uid"] = of.Name, string(of.UID)
		set["reason"], set["type"] = obj.Reason, obj.Type
	case *corev1.Pod:
		set["spec.nodeName"], set["status.phase"] = obj.Spec.NodeName, string(obj.Status.Phase)
	}
	return set
}
