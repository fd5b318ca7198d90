package render

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Origin returns the field of the TidbCluster that a field of a rendered object was made of. An example is
// spec.tikv.tolerations[0].effect for spec.template.spec.tolerations[0].effect of a StatefulSet. The API server names
// the field of the object, which a user has never written. Where nothing more is known it is the component's part of
// the spec, "spec" for an object of the whole cluster.
func Origin(c topology.Cluster, k topology.Kind, object runtime.Object, path string) string {
	spec, _ := asJSON(c.Written.Spec).(map[string]any)
	o := origin{name: string(k), kind: strings.TrimPrefix(topology.FieldOf(c.Written, k).String(), "spec."), spec: spec, object: asJSON(object)}
	o.own, _ = asJSON(topology.Own(c.Written, k)).(map[string]any)
	if k == "" {
		return "spec"
	}
	parts := segments(path)
	switch {
	case len(parts) == 0:
		return joinSegments("spec", o.kind)
	case len(parts) > 2 && parts[0] == "spec" && parts[1] == "template":
		return o.ofPod([]string{"spec", "template"}, parts[2:])
	case len(parts) > 2 && parts[0] == "spec" && parts[1] == "volumeClaimTemplates":
		return o.ofClaim(parts)
	case o.isService():
		return o.ofService(parts)
	}
	return o.ofPod(nil, parts)
}

// origin finds the field of a component.
type origin struct {
	name   string         // of the component
	kind   string         // the field with the component's part of the spec
	spec   map[string]any // of the TidbCluster
	own    map[string]any // the component's part of it
	object any            // the rendered object
}

func asJSON(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var out any
	if json.Unmarshal(data, &out) != nil {
		return nil
	}
	return out
}

// segment matches one part of a path: a name, or what is between brackets.
var segment = regexp.MustCompile(`\[([^\]]*)\]|([^.\[\]]+)`)

// segments returns the parts of a path such as a.b[0].c[x.y/z]; those in brackets keep them.
func segments(path string) []string {
	var parts []string
	for _, m := range segment.FindAllStringSubmatch(path, -1) {
		if m[2] != "" {
			parts = append(parts, m[2])
		} else {
			parts = append(parts, "["+m[1]+"]")
		}
	}
	return parts
}

// joinSegments is the reverse of segments.
func joinSegments(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		if b.Len() > 0 && !strings.HasPrefix(p, "[") {
			b.WriteByte('.')
		}
		b.WriteString(p)
	}
	return b.String()
}

// valueAt returns the value of the object at a path, nil where there is none.
func (o origin) valueAt(parts ...string) any {
	v := o.object
	for _, p := range parts {
		if list, ok := v.([]any); ok {
			i, err := strconv.Atoi(strings.Trim(p, "[]"))
			if err != nil || i < 0 || i >= len(list) {
				return nil
			}
			v = list[i]
			continue
		}
		fields, _ := v.(map[string]any)
		v = fields[strings.Trim(p, "[]")]
	}
	return v
}

func entryName(v any) string {
	fields, _ := v.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}

// entry returns the path of the entry that an element of the object was made of. The entry is in a list of the
// component's part, or of the spec as a whole. It has the element's name, or else it is equal to the element.
func (o origin) entry(list string, element any) ([]string, bool) {
	for _, from := range []struct {
		at   []string
		part map[string]any
	}{{[]string{"spec", o.kind}, o.own}, {[]string{"spec"}, o.spec}} {
		entries, _ := from.part[list].([]any)
		for i, e := range entries {
			if name := entryName(element); name != "" && name == entryName(e) || reflect.DeepEqual(e, element) {
				return append(slices.Clone(from.at), list, fmt.Sprintf("[%d]", i)), true
			}
		}
	}
	return []string{"spec", o.kind}, false
}

// field returns the path of a field of the component's part. Where only the spec as a whole has the field, it returns
// that path.
func (o origin) field(name string) []string {
	if _, own := o.own[name]; !own {
		if _, whole := o.spec[name]; whole {
			return []string{"spec", name}
		}
	}
	return []string{"spec", o.kind, name}
}

// ofPod returns the origin of a field of a pod. The pod may also be a pod template at a path of the object.
func (o origin) ofPod(root, parts []string) string {
	switch first := parts[0]; {
	case first == "metadata" && len(parts) > 1:
		return o.ofPod(root, parts[1:])
	case first == "labels" || first == "annotations":
		return joinSegments(append(o.field(first), parts[1:]...)...)
	case first != "spec" || len(parts) < 2:
		return joinSegments("spec", o.kind)
	}
	name, rest := parts[1], parts[2:]
	at := append(slices.Clone(root), "spec", name)
	switch name {
	case "containers", "initContainers":
		return o.ofContainer(at, rest)
	case "volumes":
		return o.ofElement("additionalVolumes", at, rest)
	case "tolerations", "topologySpreadConstraints", "imagePullSecrets":
		return o.ofElement(name, at, rest)
	case "securityContext":
		return joinSegments(append(o.field("podSecurityContext"), rest...)...)
	case "serviceAccountName":
		return joinSegments(o.field("serviceAccount")...)
	case "affinity", "nodeSelector", "priorityClassName", "schedulerName", "hostNetwork", "dnsPolicy", "dnsConfig",
		"terminationGracePeriodSeconds", "automountServiceAccountToken":
		return joinSegments(append(o.field(name), rest...)...)
	}
	return joinSegments("spec", o.kind)
}

// ofElement returns the origin of a field of an element of a list, whose index comes first in rest.
func (o origin) ofElement(list string, at, rest []string) string {
	if len(rest) == 0 {
		return joinSegments(o.field(list)...)
	}
	entry, found := o.entry(list, o.valueAt(append(at, rest[0])...))
	if !found {
		return joinSegments(entry...)
	}
	return joinSegments(append(entry, rest[1:]...)...)
}

// ofContainer returns the origin of a field of a container.
func (o origin) ofContainer(at, rest []string) string {
	if len(rest) == 0 {
		return joinSegments("spec", o.kind)
	}
	list := "initContainers"
	if at[len(at)-1] == "containers" {
		list = "additionalContainers"
	}
	at, rest = append(at, rest[0]), rest[1:]
	container := o.valueAt(at...)
	if entry, found := o.entry(list, container); found && o.sets(list, entryName(container), rest) {
		return joinSegments(append(entry, rest...)...)
	}
	if entryName(container) != o.name || len(rest) == 0 {
		return joinSegments("spec", o.kind)
	}
	switch rest[0] {
	case "env":
		return o.ofElement("env", append(at, "env"), rest[1:])
	case "volumeMounts":
		return o.ofElement("additionalVolumeMounts", append(at, "volumeMounts"), rest[1:])
	case "resources":
		if len(rest) > 1 {
			return joinSegments(append([]string{"spec", o.kind}, rest[1:]...)...)
		}
	case "image":
		return joinSegments("spec", o.kind, "baseImage")
	case "imagePullPolicy", "envFrom", "securityContext":
		return joinSegments(append(o.field(rest[0]), rest[1:]...)...)
	}
	return joinSegments("spec", o.kind)
}

// sets reports whether the user's entry of a container has the field that an error is about. One with the name of a
// built-in container has only a part of the fields, and no image.
func (o origin) sets(list, name string, rest []string) bool {
	entries, _ := o.own[list].([]any)
	for _, e := range entries {
		fields, _ := e.(map[string]any)
		if entryName(e) != name {
			continue
		}
		if len(rest) == 0 || fields["image"] != nil {
			return true
		}
		table, isTable := fields[rest[0]].(map[string]any)
		return isTable && len(table) > 0 || !isTable && fields[rest[0]] != nil
	}
	return false
}

// ofClaim returns the origin of a field of a claim template.
func (o origin) ofClaim(parts []string) string {
	if len(parts) < 3 {
		return joinSegments("spec", o.kind)
	}
	meta, _ := o.valueAt(append(parts[:3:3], "metadata")...).(map[string]any)
	name, _ := meta["name"].(string)
	entries, _ := o.own["storageVolumes"].([]any)
	for i, e := range entries {
		if o.name+"-"+entryName(e) == name {
			return joinSegments("spec", o.kind, "storageVolumes", fmt.Sprintf("[%d]", i))
		}
	}
	if slices.Contains(parts, "storageClassName") {
		return joinSegments(o.field("storageClassName")...)
	}
	return joinSegments("spec", o.kind, "requests", "storage")
}

func (o origin) isService() bool {
	spec, _ := o.valueAt("spec").(map[string]any)
	_, containers := spec["containers"]
	_, template := spec["template"]
	return !containers && !template
}

// ofService returns the origin of a field of a Service.
func (o origin) ofService(parts []string) string {
	service, ok := o.own["service"].(map[string]any)
	if !ok {
		return joinSegments("spec", o.kind)
	}
	last := parts[len(parts)-1]
	for len(parts) > 0 && (parts[0] == "spec" || parts[0] == "metadata") {
		parts = parts[1:]
	}
	switch {
	case last == "nodePort" && service["mysqlNodePort"] != nil && len(parts) > 1 && entryName(o.valueAt("spec", parts[0], parts[1])) != "status":
		return joinSegments("spec", o.kind, "service", "mysqlNodePort")
	case last == "nodePort" && service["statusNodePort"] != nil:
		return joinSegments("spec", o.kind, "service", "statusNodePort")
	case len(parts) > 0 && service[parts[0]] != nil:
		return joinSegments(append([]string{"spec", o.kind, "service"}, parts...)...)
	}
	return joinSegments("spec", o.kind, "service")
}
