package intent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	strict "sigs.k8s.io/json"
)

// Manifest is one TidbCluster as a user wrote it.
type Manifest struct {
	// Cluster is its content, without defaults.
	Cluster *v1alpha1.TidbCluster
	// object is its content as it was written; this is what is applied.
	object *unstructured.Unstructured
}

// Source is a file with manifests, or what stands for one.
type Source struct {
	Name string
	Text []byte
	// Made says that a program has made the text: its lines are no places that a user could look at.
	Made bool
}

// Other is an object of another kind in a file with manifests.
type Other struct{ Kind, Name, File string }

func (o Other) String() string { return fmt.Sprintf("%s %s (%s)", o.Kind, o.Name, o.File) }

// ManifestError says what is wrong with manifests.
type ManifestError struct{ Problems []Problem }

// Problem is one thing that is wrong.
type Problem struct {
	File  string
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
	if p.File != "" {
		s = p.File + ": " + s
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

// Parse reads the TidbClusters of files in YAML or JSON, of which each can hold several, and names
// the objects of other kinds. It is strict: otherwise a misspelt field would be ignored. All
// problems are reported at once, as a *ManifestError.
func Parse(files ...Source) ([]*Manifest, []Other, error) {
	var all []*Manifest
	var others []Other
	var wrong ManifestError
	for _, f := range files {
		found, beside, problems := f.parse()
		for _, p := range problems {
			p.File = f.Name
			if f.Made {
				p.Line = 0
			}
			wrong.Problems = append(wrong.Problems, p)
		}
		all, others = append(all, found...), append(others, beside...)
	}
	if len(wrong.Problems) > 0 {
		return nil, nil, &wrong
	}
	return all, others, nil
}

// parse also returns TidbClusters that have problems.
func (s Source) parse() (all []*Manifest, others []Other, problems []Problem) {
	docs, problems := split(s.Text)
	for _, d := range docs {
		items, wrong := d.items()
		problems = append(problems, wrong...)
		for _, i := range items {
			if i.GetKind() != kind && i.GetKind() != "" {
				others = append(others, Other{Kind: i.GetKind(), Name: i.GetName(), File: s.Name})
				continue
			}
			m, wrong := i.parse()
			problems = append(problems, wrong...)
			if m != nil {
				all = append(all, m)
			}
		}
	}
	return all, others, problems
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

// parse reads a TidbCluster.
func (i item) parse() (*Manifest, []Problem) {
	if i.GetAPIVersion() != apiVersion || i.GetKind() != kind {
		return nil, []Problem{{
			Line: i.line(i.tree, "kind"), Field: "kind",
			What: fmt.Sprintf("%q of %q is not a %s of %s", i.GetKind(), i.GetAPIVersion(), kind, apiVersion),
		}}
	}
	body, err := i.MarshalJSON()
	if err != nil {
		return nil, []Problem{{Line: i.before + i.tree.Line, What: err.Error()}}
	}
	tc := &v1alpha1.TidbCluster{}
	problems := i.decode(i.tree, body, tc)
	if i.GetName() == "" {
		problems = append(problems, Problem{Line: i.line(i.tree, "metadata"), Field: "metadata.name", What: "missing"})
	}
	written(i.Unstructured)
	return &Manifest{Cluster: tc, object: i.Unstructured}, problems
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
			p.Field, p.What = at.FieldPath(), unknownField
			p.Line = d.line(tree, p.Field)
		}
		problems = append(problems, p)
	}
	return problems
}

const unknownField = "unknown field"

// plain removes the names of embedded Go structs, which begin with a capital, from a path.
func plain(path string) string {
	parts := slices.DeleteFunc(strings.Split(path, "."), func(s string) bool {
		return s != "" && s[0] >= 'A' && s[0] <= 'Z'
	})
	return strings.Join(parts, ".")
}
