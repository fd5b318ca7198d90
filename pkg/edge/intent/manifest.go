package intent

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	strict "sigs.k8s.io/json"
)

// Manifest is one TidbCluster as a user wrote it.
type Manifest struct {
	// File is the name of its Source.
	File string
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
type Other struct{ Group, Kind, Name, File string }

// Undriven reports whether the object is a cluster of tidb-operator that no TidbCluster describes. That is a cluster
// of its version 2, or of DM. A user who reads only "for kubectl to apply" would wait for a cluster.
func (o Other) Undriven() bool {
	return o.Group == "core.pingcap.com" || o.Group == "pingcap.com" && o.Kind == "DMCluster"
}

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

// Parse reads the TidbClusters of files in YAML or JSON, and names the objects of other kinds. A file can hold
// several objects. Parse is strict: otherwise a misspelt field would be ignored. All problems are reported at once,
// as a *ManifestError.
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
			if i.GetKind() != "" && !i.nearlyOurs() {
				group, _, _ := strings.Cut(i.GetAPIVersion(), "/")
				others = append(others, Other{Group: group, Kind: i.GetKind(), Name: i.GetName(), File: s.Name})
				continue
			}
			m, wrong := i.parse()
			problems = append(problems, wrong...)
			if m != nil {
				m.File = s.Name
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

// nearlyOurs reports whether an object is a TidbCluster, or has a kind that a user has misspelt.
func (i item) nearlyOurs() bool {
	return distance(strings.ToLower(i.GetKind()), strings.ToLower(kind)) <= 1
}

// parse reads a TidbCluster.
func (i item) parse() (*Manifest, []Problem) {
	if i.GetAPIVersion() != apiVersion || i.GetKind() != kind {
		write := "apiVersion: " + apiVersion
		if i.GetKind() != kind {
			write = "kind: " + kind
		}
		return nil, []Problem{{
			Line: i.line(i.tree, "kind"), Field: "kind",
			What: fmt.Sprintf("%q of %q is not a %s of %s; write %s", i.GetKind(), i.GetAPIVersion(), kind, apiVersion, write),
		}}
	}
	tc := &v1alpha1.TidbCluster{}
	problems := i.decode(i.tree, i.Object, tc)
	line := i.line(i.tree, "metadata.name")
	switch name := i.GetName(); {
	case len(problems) > 0:
	case name == "":
		problems = append(problems, Problem{Line: line, Field: "metadata.name", What: "missing: give the cluster a name, e.g. name: basic"})
	case len(validation.IsDNS1035Label(name)) > 0:
		problems = append(problems, Problem{Line: line, Field: "metadata.name", What: fmt.Sprintf(
			"%q is no name of a cluster, since Services are named after it: use up to 63 lower case letters, digits and '-', and a letter first", name)})
	}
	written(i.Unstructured)
	return &Manifest{Cluster: tc, object: i.Unstructured}, problems
}

// decode reads a document into the type. It reports fields that the type does not have, and values that are not of a
// field's type.
func (d document) decode(tree *yamlv3.Node, object map[string]any, tc *v1alpha1.TidbCluster) []Problem {
	if left := d.leftOvers(tree, ""); len(left) > 0 {
		return left // other errors may be about the same values
	}
	body, err := json.Marshal(object)
	if err != nil {
		return []Problem{{What: err.Error()}}
	}
	unknown, err := strict.UnmarshalStrict(body, tc, strict.DisallowUnknownFields)
	if err == nil && len(unknown) == 0 {
		return nil
	}
	problems := d.malformed(tree, body)
	readable := runtime.DeepCopyJSON(object)
	malformed(readable)
	for _, m := range misfits(readable, reflect.TypeFor[v1alpha1.TidbCluster]()) {
		parts := make([]string, len(m.path))
		for i, part := range m.path {
			parts[i] = strings.Trim(part, "[]")
		}
		problems = append(problems, Problem{Line: d.lineOf(tree, parts), Field: m.field(), What: m.what})
	}
	if len(problems) == 0 {
		problems = append(problems, Problem{What: "cannot be read as a " + kind + ": " + errors.Join(append(unknown, err)...).Error()})
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return a.Line - b.Line })
	return problems
}

const unknownField = "unknown field"
