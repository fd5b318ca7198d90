package render

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

// managers are the field managers of a StatefulSet, with the fields that each of them has written last.
type managers []manager

type manager struct {
	name   string
	at     time.Time
	fields map[string]any // as in the record of the API server, f:spec and so on
}

// managersOf reads the record of the API server. Managers of the status are none of the pod template.
func managersOf(set *appsv1.StatefulSet) managers {
	var all managers
	for _, f := range set.ManagedFields {
		if f.Subresource != "" || f.FieldsV1 == nil {
			continue
		}
		m := manager{name: f.Manager}
		if f.Time != nil {
			m.at = f.Time.Time
		}
		if json.Unmarshal(f.FieldsV1.GetRawBytes(), &m.fields) == nil {
			all = append(all, m)
		}
	}
	return all
}

// writer returns the manager that has written a field of the pod template last, and when. The name is
// "" where no manager has the field, for example after the field was removed.
func (m managers) writer(at place) (name string, when time.Time) {
	for _, one := range m {
		if one.has(at.way) && (name == "" || one.at.After(when)) {
			name, when = one.name, one.at
		}
	}
	return name, when
}

// has reports whether a manager has written a field. The manager may also have written, as one value, a
// list or map with the field.
func (m manager) has(way []any) bool {
	node := m.fields
	start := []any{"spec", "template", "spec"}
	if len(way) > 0 && (way[0] == "labels" || way[0] == "annotations") {
		start[2] = "metadata"
	}
	for _, step := range slices.Concat(start, way) {
		next, ok := child(node, step)
		if !ok {
			return false
		}
		if len(next) == 0 {
			return true
		}
		node = next
	}
	return true
}

// child returns what a manager has written of a field, or of an element of a list. The API server knows
// such an element by some of its fields.
func child(node map[string]any, step any) (map[string]any, bool) {
	if name, ok := step.(string); ok {
		next, ok := node["f:"+name].(map[string]any)
		return next, ok
	}
	for key, value := range node {
		text, keyed := strings.CutPrefix(key, "k:")
		var by map[string]any
		if !keyed || json.Unmarshal([]byte(text), &by) != nil || !matches(by, step) {
			continue
		}
		next, ok := value.(map[string]any)
		return next, ok
	}
	return nil, false
}

// matches reports whether an element of a list is the one with these fields.
func matches(by map[string]any, element any) bool {
	fields, _ := element.(map[string]any)
	for name, value := range by {
		if have, ok := fields[name]; ok && have != value {
			return false
		}
	}
	return true
}
