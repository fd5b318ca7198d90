package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/util/toml"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Difference is what changes in the pods of a component that exists.
type Difference struct {
	Component topology.Kind
	Pods      []Field // of the pod template
	Config    []Field // of the configuration files
}

// Field is a field that changes. Old or New is "" where the field is not there.
type Field struct {
	Path     string
	Old, New string
	// Hidden: the values are not shown, since they are long or may be secret.
	Hidden bool
}

// Differences compares what is wanted with the pod templates that were applied last, and with the
// configurations in use. What was applied last is read from its record, because the live template has
// the defaults of the API server, which nobody has asked for.
func Differences(o state.Observation, w desired.State) []Difference {
	var all []Difference
	for _, g := range w.Groups {
		live := o.Existing.Sets[g.Kind]
		if live == nil || g.Suspend {
			continue
		}
		d := Difference{Component: g.Kind, Config: configDifference(o, g)}
		if set, ok := g.Set.Manifest.(*appsv1.StatefulSet); ok && g.Set.Drift == desired.Differs {
			d.Pods = podDifference(live, set, len(d.Config) > 0)
		}
		if len(d.Pods)+len(d.Config) > 0 {
			all = append(all, d)
		}
	}
	return all
}

// podDifference leaves the name of the ConfigMap out where the configuration itself is shown.
func podDifference(live, wanted *appsv1.StatefulSet, configured bool) []Field {
	applied, ok := lastApplied[appsv1.StatefulSetSpec](live.ObjectMeta)
	if !ok || fingerprint(applied.Template) == fingerprint(wanted.Spec.Template) {
		return nil
	}
	fields := compare(podLeaves(applied.Template), podLeaves(wanted.Spec.Template), variable)
	meant := compare(podLeaves(normal(applied.Template)), podLeaves(normal(wanted.Spec.Template)), variable)
	return slices.DeleteFunc(fields, func(f Field) bool {
		same := !slices.ContainsFunc(meant, func(o Field) bool { return o.Path == f.Path }) // 1Gi is 1024Mi
		return same || configured && strings.HasPrefix(f.Path, "volumes[") && strings.Contains(f.Path, "configMap.")
	})
}

func configDifference(o state.Observation, g desired.Group) []Field {
	if len(g.Config) == 0 || g.Config[0].Drift == desired.None {
		return nil
	}
	wanted, ok := g.Config[0].Manifest.(*corev1.ConfigMap)
	used := inUse(o.Cluster, g.Kind, o.Existing).found
	if !ok || used == nil {
		return nil
	}
	var all []Field
	for _, key := range slices.Sorted(maps.Keys(wanted.Data)) {
		before, after := used.Data[key], wanted.Data[key]
		switch {
		case before == after || key == keyOverlay:
		case key == keyScript:
			all = append(all, Field{Path: "the start script", Hidden: true})
		default:
			secret := func(path string) bool { return path == key || confidential(path) } // the whole file may have one
			all = append(all, compare(configLeaves(key, before), configLeaves(key, after), secret)...)
		}
	}
	return all
}

// compare returns the fields in which two sets of values differ. Those that may be secret are not shown.
func compare(before, after map[string]string, secret func(path string) bool) []Field {
	paths := maps.Clone(before)
	maps.Copy(paths, after)
	var all []Field
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		f := Field{Path: path, Old: before[path], New: after[path]}
		if f.Old == f.New {
			continue
		}
		if long(f.Old) || long(f.New) || secret(path) {
			f.Old, f.New, f.Hidden = "", "", true
		}
		all = append(all, f)
	}
	return all
}

// longest is the longest value that is shown.
const longest = 100

func long(value string) bool { return len(value) > longest || strings.Contains(value, `\n`) }

// variable reports whether a field is the value of a variable of the environment, which may be a secret.
func variable(path string) bool {
	return strings.Contains(path, ".env[") && strings.HasSuffix(path, "].value")
}

// confidential reports whether a setting may be a secret, as its name says.
func confidential(key string) bool { return topology.Confidential(key[strings.LastIndex(key, ".")+1:]) }

// podLeaves returns the values of a pod template by their paths. Elements of lists that have a name are
// found by it, so that one more is not a change of all that follow.
func podLeaves(t corev1.PodTemplateSpec) map[string]string {
	all := map[string]string{}
	collect(all, "labels", tree(t.Labels))
	collect(all, "annotations", tree(t.Annotations))
	spec, _ := tree(t.Spec).(map[string]any)
	for key, value := range spec {
		collect(all, key, value)
	}
	return all
}

// tree returns a value as JSON decodes it.
func tree(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		panic("render: encode a pod template: " + err.Error())
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		panic("render: decode a pod template: " + err.Error())
	}
	return out
}

// configLeaves returns the settings of a configuration file by their keys. A file that is no TOML is one
// value.
func configLeaves(file, text string) map[string]string {
	all, tables := map[string]string{}, map[string]any{}
	if err := toml.Unmarshal([]byte(text), &tables); err != nil {
		return map[string]string{file: encoded(text)}
	}
	for key, value := range tables {
		collect(all, key, value)
	}
	return all
}

func collect(all map[string]string, path string, value any) {
	switch v := value.(type) {
	case nil:
	case map[string]any:
		for key, inner := range v {
			collect(all, path+"."+key, inner)
		}
	case []any:
		for i, inner := range v {
			name := nameOf(inner)
			if name == "" && !isTree(inner) {
				all[path] = encoded(v) // a list of plain values is one
				return
			}
			if name == "" {
				name = strconv.Itoa(i)
			}
			collect(all, path+"["+name+"]", inner)
		}
	default:
		all[path] = encoded(v)
	}
}

func isTree(v any) bool {
	_, is := v.(map[string]any)
	return is
}

// namedBy are the fields by which Kubernetes tells elements of a list apart.
var namedBy = []string{"mountPath", "name", "containerPort"}

// nameOf returns the name of an element, "" where it has none.
func nameOf(v any) string {
	fields, _ := v.(map[string]any)
	for _, by := range namedBy {
		if name, ok := fields[by]; ok {
			return fmt.Sprint(name)
		}
	}
	return ""
}

// encoded returns a plain value as JSON, without the quotes of a text.
func encoded(v any) string {
	if text, ok := v.(string); ok && text != "" && !strings.Contains(text, "\n") {
		return text
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
