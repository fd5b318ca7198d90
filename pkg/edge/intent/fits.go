package intent

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// misfit is a value that a field of a TidbCluster cannot have, or a field that there is not.
type misfit struct {
	path []string // names of fields, keys of maps, and indices such as "[0]"
	what string
	// unknown: no such field exists. A later definition of TidbCluster may have it.
	unknown bool
}

// field returns the path as users write it.
func (m misfit) field() string {
	var b strings.Builder
	for _, part := range m.path {
		if !strings.HasPrefix(part, "[") && b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(part)
	}
	return b.String()
}

// fitting compares a document with the type that it is decoded into. The decoder stops at the first
// value of a wrong type, often without its field, and names Go types that a user does not know.
type fitting struct {
	misfits []misfit
	// around are the names of the fields of each struct from the document's root to the current value. A field at a
	// wrong indentation is recognized by these names.
	around []level
}

// level is a struct on the way to a value.
type level struct {
	path   []string
	fields map[string]reflect.Type
}

// misfits returns everything in a document that a type does not have or cannot hold.
func misfits(document any, t reflect.Type) []misfit {
	f := &fitting{}
	f.value(nil, document, t)
	return f.misfits
}

func (f *fitting) wrong(path []string, format string, args ...any) {
	f.misfits = append(f.misfits, misfit{path: slices.Clone(path), what: fmt.Sprintf(format, args...)})
}

var decodes = reflect.TypeFor[json.Unmarshaler]()

func (f *fitting) value(path []string, v any, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if v == nil {
		return // as if it were not there
	}
	if reflect.PointerTo(t).Implements(decodes) {
		f.special(path, v, t)
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		f.object(path, v, t)
	case reflect.Map:
		entries, ok := v.(map[string]any)
		if !ok {
			f.wrong(path, "is %s, must be an object with keys and values", shown(v))
		}
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			f.value(append(path, "["+key+"]"), entries[key], t.Elem())
		}
	case reflect.Slice:
		f.list(path, v, t)
	case reflect.String:
		if _, ok := v.(string); !ok {
			f.wrong(path, "is %s, must be text%s", unshown(v), inQuotes(v))
		}
	case reflect.Bool:
		if _, ok := v.(bool); !ok {
			f.wrong(path, "is %s, must be true or false%s", shown(v), withoutQuotes(v, "true", "false"))
		}
	case reflect.Float32, reflect.Float64:
		if _, ok := number(v); !ok {
			f.wrong(path, "is %s, must be a number", shown(v))
		}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		f.checkWhole(path, v, t)
	}
}

func (f *fitting) list(path []string, v any, t reflect.Type) {
	if t.Elem().Kind() == reflect.Uint8 {
		if _, ok := v.(string); !ok {
			f.wrong(path, "is %s, must be text in base64", shown(v))
		}
		return
	}
	items, ok := v.([]any)
	if !ok {
		f.wrong(path, "is %s, must be a list: begin each item with a dash", shown(v))
	}
	for i, item := range items {
		f.value(append(path, "["+strconv.Itoa(i)+"]"), item, t.Elem())
	}
}

// checkWhole checks a whole number of a type.
func (f *fitting) checkWhole(path []string, v any, t reflect.Type) {
	n, ok := number(v)
	switch {
	case !ok:
		f.wrong(path, "is %s, must be a whole number%s", shown(v), withoutQuotes(v))
	case n != math.Trunc(n):
		f.wrong(path, "is %s, must be a whole number", shown(v))
	case n > math.MaxInt32 && t.Kind() == reflect.Int32, n < math.MinInt32 && t.Kind() == reflect.Int32:
		f.wrong(path, "is %s, must be at most %d", shown(v), math.MaxInt32)
	}
}

func (f *fitting) object(path []string, v any, t reflect.Type) {
	entries, ok := v.(map[string]any)
	if !ok {
		f.wrong(path, "is %s, must be an object with fields", shown(v))
		return
	}
	here := level{path: slices.Clone(path), fields: fieldsOf(t)}
	f.around = append(f.around, here)
	defer func() { f.around = f.around[:len(f.around)-1] }()
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		at := append(path, name)
		if of, known := here.fields[name]; known {
			f.value(at, entries[name], of)
			continue
		}
		f.misfits = append(f.misfits, misfit{path: slices.Clone(at), what: unknownField + f.meant(name), unknown: true})
	}
}

// meant returns what a user may have meant by the name of an unknown field, after a semicolon, or "".
func (f *fitting) meant(name string) string {
	here := f.around[len(f.around)-1]
	known := slices.Sorted(maps.Keys(here.fields))
	if slices.Contains([]string{"cpu", "memory", "storage"}, name) && slices.Contains(known, "requests") {
		return fmt.Sprintf("; the field %s belongs into requests, so look at the indentation", name)
	}
	if near := similarField(name, known); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	for i := len(f.around) - 2; i >= 0; i-- {
		if above := f.around[i]; above.fields[name] != nil && len(above.path) > 0 {
			return fmt.Sprintf("; the field %s belongs into %s, so look at the indentation", name, misfit{path: above.path}.field())
		}
	}
	return ""
}

// similarField returns the name of a field that a user may have meant, "" for none.
func similarField(name string, known []string) string {
	lower := strings.ToLower(name)
	best, least := "", max(1, len(name)/3)+1
	for _, k := range known {
		if d := distance(lower, strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	if best != "" || len(name) < 4 {
		return best
	}
	for _, k := range known {
		if strings.Contains(strings.ToLower(k), lower) {
			return k
		}
	}
	return ""
}

// fieldsOf returns the types of the fields of a struct by their names in JSON, those of embedded structs
// included.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for i := range t.NumField() {
		sf := t.Field(i)
		name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		of := sf.Type
		for of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch {
		case name == "-" && options == "":
		case name == "" && sf.Anonymous && of.Kind() == reflect.Struct:
			for inner, it := range fieldsOf(of) {
				if _, outer := all[inner]; !outer {
					all[inner] = it
				}
			}
		case name == "":
			all[sf.Name] = sf.Type
		default:
			all[name] = sf.Type
		}
	}
	return all
}

// special checks a value of a type with a decoder of its own.
func (f *fitting) special(path []string, v any, t reflect.Type) {
	data, err := json.Marshal(v)
	if err != nil {
		return
	}
	if json.Unmarshal(data, reflect.New(t).Interface()) == nil {
		return
	}
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		f.wrong(path, "%s", noQuantity(v))
	case reflect.TypeFor[intstr.IntOrString]():
		f.wrong(path, "is %s, must be a whole number or text", shown(v))
	case reflect.TypeFor[metav1.Duration]():
		f.wrong(path, "is %s, must be a duration such as 10m or 1h30m", shown(v))
	case reflect.TypeFor[metav1.Time]():
		f.wrong(path, "is %s, must be a time such as 2006-01-02T15:04:05Z", shown(v))
	default:
		f.wrong(path, "is %s, which this field cannot hold", shown(v))
	}
}

// number returns a number of a document, which the decoder reads as one of two types.
func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

// longestShown bounds how much of a value a message shows.
const longestShown = 60

// shown returns a value in a user's words.
func shown(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		if len(v) > longestShown {
			return "a long text"
		}
		return "the text " + strconv.Quote(v)
	case bool:
		return strconv.FormatBool(v)
	}
	return "the number " + fmt.Sprint(v)
}

// unshown returns what a value is, without the value. A text field may hold a password, and the output of a pipeline
// is read by many.
func unshown(v any) string {
	switch v.(type) {
	case bool:
		return "true or false"
	case int64, float64:
		return "a number"
	}
	return shown(v)
}

// inQuotes says how to write a scalar as text, "" for other values.
func inQuotes(v any) string {
	switch v.(type) {
	case bool, int64, float64:
		return ": put the value in quotes"
	}
	return ""
}

// withoutQuotes says how to write a text as a number or as one of some words. It returns "" where the text is none
// of these.
func withoutQuotes(v any, words ...string) string {
	text, ok := v.(string)
	if !ok {
		return ""
	}
	if _, err := strconv.Atoi(text); (err == nil && len(words) == 0) || slices.Contains(words, text) {
		return ": write " + text + " without quotes"
	}
	return ""
}
