package check

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Differences returns how a spec becomes another one, field by field, as text for a person.
func Differences(from, to *v1alpha1.TidbCluster) string {
	was, is := fields(from), fields(to)
	var all []string
	for _, path := range differences(was, is) {
		all = append(all, fmt.Sprintf("%s from %s to %s", path, value(was, path), value(is, path)))
	}
	return strings.Join(all, "; ")
}

// Overwritten returns the fields that a change has written and that have another value now, as text for a person.
// Fields that the change has left as they were do not matter.
func Overwritten(before, asked, now *v1alpha1.TidbCluster) []string {
	was, want, is := fields(before), fields(asked), fields(now)
	var all []string
	for _, path := range differences(want, is) {
		if touched(path, differences(was, want)) {
			all = append(all, fmt.Sprintf("%s is %s now, and %s was asked for", path, value(is, path), value(want, path)))
		}
	}
	return all
}

// touched reports whether a path is equal to, contains, or is part of one of some paths.
func touched(path string, paths []string) bool {
	return slices.ContainsFunc(paths, func(o string) bool {
		return path == o || strings.HasPrefix(path, o+".") || strings.HasPrefix(o, path+".")
	})
}

// fields returns the values of a spec by their paths, and the slots, which count as a part of it. A list is one value.
func fields(tc *v1alpha1.TidbCluster) map[string]any {
	all := map[string]any{}
	if tc == nil {
		return all
	}
	body, err := json.Marshal(tc.Spec)
	var spec map[string]any
	if err == nil {
		err = json.Unmarshal(body, &spec)
	}
	if err != nil {
		return all // cannot happen, since it was decoded from JSON
	}
	flatten("spec", spec, all)
	for _, k := range topology.Kinds() {
		if slots := topology.SlotsAsked(tc, k); len(slots) > 0 {
			all["metadata.annotations."+topology.SlotsAnnotation(k)] = topology.SlotsText(slots)
		}
	}
	return all
}

func flatten(path string, v any, into map[string]any) {
	m, ok := v.(map[string]any)
	if !ok {
		into[path] = v
		return
	}
	for key, v := range m {
		flatten(path+"."+key, v, into)
	}
}

// differences returns the paths whose values differ.
func differences(a, b map[string]any) []string {
	var paths []string
	for path := range a {
		if other, ok := b[path]; !ok || !reflect.DeepEqual(a[path], other) {
			paths = append(paths, path)
		}
	}
	for path := range b {
		if _, ok := a[path]; !ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// longest is how many bytes of a value are shown, because a configuration may have a hundred lines.
const longest = 60

// value returns a value as text for a person.
func value(all map[string]any, path string) string {
	v, ok := all[path]
	if !ok {
		return "not set"
	}
	text, err := json.Marshal(v)
	if err != nil || len(text) > longest {
		return "something else"
	}
	return string(text)
}
