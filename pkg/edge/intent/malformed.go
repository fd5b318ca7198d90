package intent

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// MalformedError says that configurations in a TidbCluster cannot be read, most of
// them because their TOML is not valid. The API server stores any text there.
type MalformedError struct {
	Namespace, Name string
	Problems        []Problem
	// Cluster is the TidbCluster without these configurations. It can be used where they are not
	// needed, but must not be driven: what is wanted is unknown.
	Cluster *v1alpha1.TidbCluster
}

func (e *MalformedError) Error() string {
	return fmt.Sprintf("tidbcluster %s/%s has a configuration that cannot be read: %s", e.Namespace, e.Name, e.Fields())
}

// Fields says which fields are malformed, and in which way.
func (e *MalformedError) Fields() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.String()
	}
	return strings.Join(texts, "; ")
}

// Remedy returns what a person must do.
func (e *MalformedError) Remedy() remedy.Remedy {
	return remedy.Remedy{remedy.Run("correct it", remedy.Kubectl(e.Namespace, "edit", "tidbclusters", e.Name))}
}

// Final implements reconcile.Final: only another spec helps.
func (e *MalformedError) Final() bool { return true }

// configurations are the fields of a TidbCluster that hold a configuration file.
var configurations = [][]string{
	{"spec", "pd", "config"}, {"spec", "tikv", "config"}, {"spec", "tidb", "config"},
	{"spec", "tiflash", "config", "config"}, {"spec", "tiflash", "config", "proxy"},
	{"spec", "ticdc", "config"}, {"spec", "tiproxy", "config"}, {"spec", "pump", "config"},
}

// malformed removes the configurations that cannot be read from a TidbCluster, and returns them.
// The object is changed.
func malformed(object map[string]any) []Problem {
	var problems []Problem
	for _, path := range configurations {
		value, found, err := unstructured.NestedFieldNoCopy(object, path...)
		if err != nil || !found {
			continue
		}
		if err := readable(value, path); err != nil {
			problems = append(problems, unreadable(strings.Join(path, "."), err))
			unstructured.RemoveNestedField(object, path...)
		}
	}
	return problems
}

// malformed returns the configurations in a document that cannot be read.
func (d document) malformed(tree *yamlv3.Node, body []byte) []Problem {
	object := map[string]any{}
	if json.Unmarshal(body, &object) != nil {
		return nil
	}
	problems := malformed(object)
	for i := range problems {
		problems[i].Line = d.line(tree, problems[i].Field)
	}
	return problems
}

// readable decodes a TidbCluster that has nothing but this one field.
func readable(value any, path []string) error {
	for i := len(path) - 1; i >= 0; i-- {
		value = map[string]any{path[i]: value}
	}
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, &v1alpha1.TidbCluster{})
}

// unreadable returns a configuration's error in words for users. That of the decoder names Go types.
func unreadable(field string, err error) Problem {
	if wrong, ok := errors.AsType[*stdjson.UnmarshalTypeError](err); ok {
		value, _, _ := strings.Cut(wrong.Value, " ")
		return Problem{Field: strings.TrimSuffix(field+"."+plain(wrong.Field), "."), What: fmt.Sprintf("is %s, must be %s", inWords[value], ofType(wrong.Type))}
	}
	if strings.Contains(err.Error(), "unknown type: ") {
		return Problem{Field: field, What: "must be text in TOML: write \"config: |\", and the settings in the lines after it"}
	}
	return Problem{Field: field, What: invalid(err)}
}

// inWords has the kinds of values as the decoder of JSON calls them.
var inWords = map[string]string{
	"object": "an object", "array": "a list", "string": "text", "number": "a number", "bool": "true or false",
}

// ofType returns what a value of a type is.
func ofType(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object with fields"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

// plain removes the names of embedded Go structs, which begin with a capital, from a path.
func plain(path string) string {
	parts := slices.DeleteFunc(strings.Split(path, "."), func(s string) bool {
		return s != "" && s[0] >= 'A' && s[0] <= 'Z'
	})
	return strings.Join(parts, ".")
}

// nearLine is how the parser of TOML begins an error.
var nearLine = regexp.MustCompile(`(?s)^Near line (\d+)(?: \(last key parsed '([^']*)'\))?: (.*)$`)

// invalid returns a parser's error in words that say where to look. The parser counts
// lines from the beginning of the configuration.
func invalid(err error) string {
	found := nearLine.FindStringSubmatch(err.Error())
	if found == nil {
		return err.Error()
	}
	after := ""
	if found[2] != "" {
		after = ", after key " + strconv.Quote(found[2])
	}
	return fmt.Sprintf("not valid TOML in its line %s%s: %s", found[1], after, found[3])
}
