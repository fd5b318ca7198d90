package intent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	strict "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Manifest is one TidbCluster as a user wrote it.
type Manifest struct {
	// Cluster is its content, without defaults.
	Cluster *v1alpha1.TidbCluster
	// object is its content as it was written; this is what is applied.
	object *unstructured.Unstructured
}

// ManifestError says what is wrong with a manifest.
type ManifestError struct{ Problems []Problem }

// Problem is one thing that is wrong.
type Problem struct {
	Line  int    // in the file, from 1; 0 when unknown
	Field string // e.g. "spec.tikv.replicas"
	What  string // e.g. "unknown field"
}

func (p Problem) String() string {
	s := p.What
	if p.Field != "" {
		s = p.Field + ": " + s
	}
	if p.Line > 0 {
		s = fmt.Sprintf("line %d: %s", p.Line, s)
	}
	return s
}

func (e *ManifestError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Parse reads the TidbClusters of a file in YAML or JSON, of which it can hold several. It is
// strict: otherwise a misspelt field would be ignored. All problems are reported at once, as a
// *ManifestError.
func Parse(data []byte) ([]*Manifest, error) {
	var all []*Manifest
	var wrong ManifestError
	for _, d := range split(data) {
		m, problems := d.parse()
		wrong.Problems = append(wrong.Problems, problems...)
		if m != nil {
			all = append(all, m)
		}
	}
	switch {
	case len(wrong.Problems) > 0:
		return nil, &wrong
	case len(all) == 0:
		return nil, &ManifestError{Problems: []Problem{{What: "there is no TidbCluster in it"}}}
	}
	return all, nil
}

// InNamespace sets the namespace as kubectl does: that of the manifest, or the given one if the
// manifest has none. If the user has given a namespace explicitly and the manifest has another one,
// it is an error.
func (m *Manifest) InNamespace(namespace string, explicit bool) error {
	own := m.Cluster.Namespace
	switch {
	case own == "":
		m.Cluster.Namespace = namespace
		m.object.SetNamespace(namespace)
	case explicit && own != namespace:
		return fmt.Errorf("TidbCluster %s has namespace %q in the manifest, which is not %q as asked for: "+
			"give --namespace=%s or leave it out", m.Cluster.Name, own, namespace, own)
	}
	return nil
}

// document is one of the documents of a file.
type document struct {
	text   []byte
	before int // lines before it
}

// split splits a file at the lines that separate its documents.
func split(data []byte) []document {
	var docs []document
	var current document
	lines := bytes.SplitAfter(data, []byte("\n"))
	for i, line := range lines {
		if rest, ok := bytes.CutPrefix(line, []byte("---")); ok && (len(bytes.TrimSpace(rest)) == 0 || bytes.HasPrefix(bytes.TrimSpace(rest), []byte("#"))) {
			docs = append(docs, current)
			current = document{before: i + 1}
			continue
		}
		current.text = append(current.text, line...)
	}
	return append(docs, current)
}

// parse reads a document; it is nil, without a problem, when there is nothing in
// it.
func (d document) parse() (*Manifest, []Problem) {
	var root yamlv3.Node
	if err := yamlv3.Unmarshal(d.text, &root); err != nil {
		return nil, []Problem{d.syntax(err)}
	}
	if len(root.Content) == 0 || root.Content[0].Tag == "!!null" {
		return nil, nil
	}
	tree := root.Content[0]
	problems := d.duplicates(tree, "")
	// Values are read as kubectl reads them: to this parser, "on" is a boolean.
	body, err := yaml.YAMLToJSON(d.text)
	if err != nil {
		return nil, []Problem{d.syntax(err)}
	}
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(body, &u.Object); err != nil {
		return nil, append(problems, Problem{Line: d.before + tree.Line, What: "not an object with fields"})
	}
	if u.GetAPIVersion() != apiVersion || u.GetKind() != kind {
		return nil, append(problems, Problem{
			Line: d.line(tree, "kind"), Field: "kind",
			What: fmt.Sprintf("%s %s is not a %s of %s: apply it with kubectl", u.GetAPIVersion(), u.GetKind(), kind, apiVersion),
		})
	}
	tc := &v1alpha1.TidbCluster{}
	problems = append(problems, d.decode(tree, body, tc)...)
	if u.GetName() == "" {
		problems = append(problems, Problem{Line: d.line(tree, "metadata"), Field: "metadata.name", What: "missing"})
	}
	if len(problems) > 0 {
		return nil, problems
	}
	written(u)
	return &Manifest{Cluster: tc, object: u}, nil
}

// decode reads a document into the type, and reports fields that the type does
// not have and of values that are not of a field's type.
func (d document) decode(tree *yamlv3.Node, body []byte, tc *v1alpha1.TidbCluster) []Problem {
	unknown, err := strict.UnmarshalStrict(body, tc, strict.DisallowUnknownFields)
	if err != nil {
		if problems := d.malformed(tree, body); len(problems) > 0 {
			return problems
		}
		p := Problem{What: err.Error()}
		// Only the error of the standard library names the field.
		var wrong *json.UnmarshalTypeError
		if errors.As(json.Unmarshal(body, &v1alpha1.TidbCluster{}), &wrong) {
			p.Field = plain(wrong.Field)
			p.What = fmt.Sprintf("is a %s, must be a %s", wrong.Value, wrong.Type)
			p.Line = d.line(tree, p.Field)
		}
		return []Problem{p}
	}
	var problems []Problem
	for _, e := range unknown {
		p := Problem{What: e.Error()}
		var at strict.FieldError
		if errors.As(e, &at) {
			p.Field, p.What = at.FieldPath(), "unknown field"
			p.Line = d.line(tree, p.Field)
		}
		problems = append(problems, p)
	}
	return problems
}

// plain removes the names of embedded Go structs, which begin with a capital, from a path.
func plain(path string) string {
	parts := slices.DeleteFunc(strings.Split(path, "."), func(s string) bool {
		return s != "" && s[0] >= 'A' && s[0] <= 'Z'
	})
	return strings.Join(parts, ".")
}
