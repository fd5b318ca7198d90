package plantest

import (
	"reflect"
	"regexp"
	"strconv"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Numbered returns the cluster with the members in the same order, and other ordinals. The number of ordinals is that of
// each StatefulSet.
func (c *Cluster) Numbered(o topology.Ordinals) *Cluster {
	to := newNumbers(o)
	next := &Cluster{Policy: c.Policy}
	next.Wanted = to.copied(reflect.ValueOf(c.Wanted)).Interface().(desired.State)
	next.Seen = to.copied(reflect.ValueOf(c.Seen)).Interface().(state.Snapshot)
	for i := range next.Wanted.Groups {
		g := &next.Wanted.Groups[i]
		g.Start, g.Slots = o.Start, o.Slots
	}
	for k, g := range next.Seen.Groups {
		g.Set.Start, g.Set.Slots = o.Start, o.Slots
		if closed := c.Seen.Groups[k].Set.Closed(); closed {
			g.Set.Partition = g.Set.Ordinals().End()
		} else {
			g.Set.Partition = to[g.Set.Partition]
		}
		for i := range g.Members {
			g.Members[i].Ordinal = to[g.Members[i].Ordinal]
		}
		next.Seen.Groups[k] = g
	}
	return next
}

// NamesNumbered returns a text with the names that members have after Numbered.
func (c *Cluster) NamesNumbered(o topology.Ordinals, text string) string {
	return newNumbers(o).names(text)
}

// numbers are the new ordinals, by the former ones.
type numbers []int

func newNumbers(o topology.Ordinals) numbers { return o.Resized(20).All() }

// member matches the names of members of a cluster that New has made.
var member = regexp.MustCompile(`\bt-([a-z]+)-(\d+)\b`)

func (to numbers) names(text string) string {
	return member.ReplaceAllStringFunc(text, func(name string) string {
		parts := member.FindStringSubmatch(name)
		n, err := strconv.Atoi(parts[2])
		if err != nil || !isKind(parts[1]) {
			return name
		}
		return "t-" + parts[1] + "-" + strconv.Itoa(to[n])
	})
}

// copied returns a deep copy of a value in which all texts have the new names of the members. Fields that are not
// exported, such as the fields of a time, keep their values.
func (to numbers) copied(v reflect.Value) reflect.Value {
	next := reflect.New(v.Type()).Elem()
	next.Set(v)
	switch v.Kind() {
	case reflect.String:
		next.SetString(to.names(v.String()))
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() && v.Kind() == reflect.Pointer {
			next.Set(reflect.New(v.Type().Elem()))
			next.Elem().Set(to.copied(v.Elem()))
		}
	case reflect.Slice:
		if !v.IsNil() {
			next.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				next.Index(i).Set(to.copied(v.Index(i)))
			}
		}
	case reflect.Map:
		if !v.IsNil() {
			next.Set(reflect.MakeMap(v.Type()))
			for _, key := range v.MapKeys() {
				next.SetMapIndex(to.copied(key), to.copied(v.MapIndex(key)))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				next.Field(i).Set(to.copied(v.Field(i)))
			}
		}
	}
	return next
}

func isKind(name string) bool {
	_, ok := topology.ParseKind(name)
	return ok
}
