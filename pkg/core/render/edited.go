package render

import (
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// A live pod template can differ from the template that was applied last. A person has changed it with
// "kubectl set image", or a tool has. Kubernetes makes a revision of it, and a rollout would take all members
// to it, past all checks of versions. So the live template is compared with the record of what was applied.
// Only fields that the record has are compared. An API server sets defaults beside them, webhooks add
// containers and variables, and "kubectl rollout restart" adds an annotation.

// edited returns the fields of the live pod template that are not as they were applied last. It returns none
// where it is not known what was applied.
func edited(live *appsv1.StatefulSet) []desired.Edit {
	texts, known := comparedIn(live)
	if _, same := unedited.Get(texts); known && same {
		return nil
	}
	applied, ok := lastApplied[appsv1.StatefulSetSpec](live.ObjectMeta)
	if !ok {
		return nil
	}
	var c comparison
	if !equality.Semantic.DeepEqual(applied.Template, live.Spec.Template) {
		c.walk(place{}, templateTree(applied.Template), templateTree(live.Spec.Template))
	}
	if len(c.edits) == 0 {
		if known {
			unedited.Add(texts, nil)
		}
		return nil
	}
	managers := managersOf(live)
	edits := make([]desired.Edit, len(c.edits))
	for i, e := range c.edits {
		edits[i] = e.Edit
		edits[i].Manager, edits[i].At = managers.writer(e.at)
	}
	return edits
}

// templateTree returns a pod template as JSON decodes it, with the fields of its spec at the top.
func templateTree(t corev1.PodTemplateSpec) map[string]any {
	t = normal(t)
	all := map[string]any{"labels": tree(t.Labels), "annotations": tree(t.Annotations)}
	spec, _ := tree(t.Spec).(map[string]any)
	maps.Copy(all, spec)
	return all
}

// place is a field of a pod template. It has the field's path for people, and the way to it for the record of
// field managers.
type place struct {
	path string
	way  []any // names of fields, and elements of lists as map[string]any
}

func (p place) field(name string) place {
	path := name
	if p.path != "" {
		path = p.path + "." + name
	}
	return place{path, append(slices.Clone(p.way), name)}
}

func (p place) element(name string, value any) place {
	return place{p.path + "[" + name + "]", append(slices.Clone(p.way), value)}
}

// placedEdit is an edit with the way to its field.
type placedEdit struct {
	desired.Edit
	at place
}

// comparison collects the fields of one tree that another one has not, or has with another value.
type comparison struct{ edits []placedEdit }

func (c *comparison) walk(at place, applied, live any) {
	switch applied := applied.(type) {
	case nil:
	case map[string]any:
		fields, same := live.(map[string]any)
		if !same {
			c.add(at, applied, live)
			return
		}
		for _, name := range slices.Sorted(maps.Keys(applied)) {
			c.walk(at.field(name), applied[name], fields[name])
		}
	case []any:
		elements, _ := live.([]any)
		c.list(at, applied, elements)
	default:
		if applied != live {
			c.add(at, applied, live)
		}
	}
}

// list compares lists. Elements that have a name are found by it, wherever they are, so that a container
// that a webhook puts first changes nothing. Others are found by their fields. A list of plain values, such
// as a command, is one value.
func (c *comparison) list(at place, applied, live []any) {
	if !slices.ContainsFunc(applied, isTree) {
		if encoded(applied) != encoded(live) {
			c.add(at, applied, live)
		}
		return
	}
	used := make([]bool, len(live))
	for _, want := range applied {
		name := nameOf(want)
		has := func(other any) bool { return nameOf(other) == name }
		if name == "" {
			has = func(other any) bool { return covered(want, other) }
		}
		found := -1
		for j, other := range live {
			if !used[j] && has(other) {
				found = j
				break
			}
		}
		switch {
		case name == "" && found < 0:
			c.add(at, applied, live)
			return
		case found < 0:
			c.add(at.element(name, want), want, nil)
		default:
			used[found] = true
			c.walk(at.element(name, live[found]), want, live[found])
		}
	}
}

// covered reports whether all fields of one tree are in another one.
func covered(applied, live any) bool {
	var c comparison
	c.walk(place{}, applied, live)
	return len(c.edits) == 0
}

func (c *comparison) add(at place, applied, live any) {
	e := desired.Edit{Field: at.path, Applied: shown(applied), Live: shown(live)}
	if long(e.Live) || long(e.Applied) || variable(at.path) || isTree(applied) || isTree(live) {
		e.Hidden = true
	}
	c.edits = append(c.edits, placedEdit{e, at})
}

// shown returns a value as a text, "" for none.
func shown(value any) string {
	if value == nil {
		return ""
	}
	if list, ok := value.([]any); ok && len(list) == 0 {
		return ""
	}
	return encoded(value)
}

// imageOf is the field with the image of a component's main container.
func imageOf(container string) string { return "containers[" + container + "].image" }

// short returns the edits as a sentence, the first ones if there are many.
func short(edits []desired.Edit) string {
	const most = 3
	var parts []string
	for _, e := range edits[:min(most, len(edits))] {
		parts = append(parts, e.String())
	}
	text := strings.Join(parts, "; ")
	if n := len(edits) - most; n > 0 {
		text += "; and " + remedy.Count(n, "other field", "other fields")
	}
	return text
}
