package intent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Draft is a TidbCluster that a person edits.
type Draft struct {
	// Now is the TidbCluster as it is; Text is what of it is edited, in YAML.
	Now  *v1alpha1.TidbCluster
	Text []byte
	// unknown are the fields that our types did not know before the edit. They stay, and are no
	// mistake of the person's.
	unknown map[string]bool
	before  *Manifest
}

// Draft reads a TidbCluster to be edited. One whose configurations cannot be decoded can be
// corrected.
func (c *Client) Draft(ctx context.Context, namespace, name string) (*Draft, error) {
	u, err := c.in(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, c.missing(ctx, namespace, name, err)
	case err != nil:
		return nil, fmt.Errorf("get tidbcluster %s/%s: %w", namespace, name, err)
	}
	tc, err := decode(u)
	if bad, ok := errors.AsType[*MalformedError](err); ok {
		tc, err = bad.Cluster, nil
	}
	if err != nil {
		return nil, err
	}
	written(u)
	for _, own := range [][]string{{"metadata", "ownerReferences"}, {"metadata", "finalizers"}, {"metadata", "annotations", topology.AnnotationLastChange}} {
		unstructured.RemoveNestedField(u.Object, own...)
	}
	if len(u.GetAnnotations()) == 0 {
		unstructured.RemoveNestedField(u.Object, "metadata", "annotations")
	}
	text, err := yaml.Marshal(u.Object)
	if err != nil {
		return nil, fmt.Errorf("encode tidbcluster %s/%s: %w", namespace, name, err)
	}
	d := &Draft{Now: tc, Text: text, unknown: map[string]bool{}, before: &Manifest{Cluster: tc, object: u}}
	rest := u.DeepCopy()
	malformed(rest.Object) // takes out what hides unknown fields
	whole, err := yaml.Marshal(rest.Object)
	if err != nil {
		return nil, fmt.Errorf("encode tidbcluster %s/%s: %w", namespace, name, err)
	}
	_, _, problems := Source{Text: whole}.parse()
	for _, p := range problems {
		d.unknown[p.Field] = true
	}
	return d, nil
}

// Edited reads what a person has made of the text. It is strict about what the person has written: all
// problems are reported at once, as a *ManifestError.
func (d *Draft) Edited(text []byte) (*Manifest, error) {
	docs, others, problems := Source{Text: text}.parse()
	problems = slices.DeleteFunc(problems, func(p Problem) bool { return d.unknown[p.Field] && p.What == unknownField })
	for _, o := range others {
		problems = append(problems, Problem{Field: "kind", What: fmt.Sprintf("%s %s is not a %s", o.Kind, o.Name, kind)})
	}
	switch {
	case len(problems) > 0:
		return nil, &ManifestError{Problems: problems}
	case len(docs) != 1:
		return nil, &ManifestError{Problems: []Problem{{What: fmt.Sprintf("has %d TidbClusters, and must have the one that is edited", len(docs))}}}
	}
	if problems = d.fixed(docs[0]); len(problems) > 0 {
		return nil, &ManifestError{Problems: problems}
	}
	return docs[0], nil
}

// fixed returns the changes of metadata that Edit does not write. Accepted, they would be lost without a
// word.
func (d *Draft) fixed(m *Manifest) []Problem {
	before, _, _ := unstructured.NestedMap(d.before.object.Object, "metadata")
	after, _, _ := unstructured.NestedMap(m.object.Object, "metadata")
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	var problems []Problem
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		is, was := after[key], before[key]
		if key == "labels" || key == "annotations" || equality.Semantic.DeepEqual(is, was) {
			continue
		}
		what := "is not changed by edit: use kubectl edit"
		if was != nil {
			what = fmt.Sprintf("must stay %v", was)
		}
		problems = append(problems, Problem{Field: "metadata." + key, What: what})
	}
	return problems
}

// Edit writes what a person has changed in the spec, the labels and the annotations. It is refused if
// the spec was changed by others meanwhile.
func (c *Client) Edit(d *Draft, edited *Manifest) (Change, error) {
	spec, err := objectPatch(d.before, edited, "spec")
	if err != nil {
		return Change{}, err
	}
	want := d.Now.DeepCopy()
	want.Spec, want.Labels, want.Annotations = edited.Cluster.Spec, edited.Cluster.Labels, edited.Cluster.Annotations
	set := settings{spec: spec, labels: changes(d.before.object.GetLabels(), edited.object.GetLabels())}
	noted := changes(d.before.object.GetAnnotations(), edited.object.GetAnnotations())
	return Change{Now: d.Now, Want: want, Write: func(ctx context.Context, w Write) error {
		record, err := recorded(d.Now, want, w)
		if err != nil || spec == nil && len(set.labels) == 0 && len(noted) == 0 {
			return err
		}
		set.annotations = maps.Clone(noted)
		maps.Copy(set.annotations, record)
		return c.patch(ctx, "edit", d.Now, set, []string{wholeSpec}, w)
	}}, nil
}

// changes returns the patch from some labels or annotations to others.
func changes(from, to map[string]string) map[string]any {
	patch := map[string]any{}
	for key, value := range to {
		if was, ok := from[key]; !ok || was != value {
			patch[key] = value
		}
	}
	for key := range from {
		if _, ok := to[key]; !ok {
			patch[key] = nil
		}
	}
	return patch
}

// objectPatch returns the merge patch of one field of an object, nil where nothing differs.
func objectPatch(from, to *Manifest, field string) (json.RawMessage, error) {
	before, err := json.Marshal(from.object.Object[field])
	if err != nil {
		return nil, fmt.Errorf("encode the %s: %w", field, err)
	}
	after, err := json.Marshal(to.object.Object[field])
	if err != nil {
		return nil, fmt.Errorf("encode the %s: %w", field, err)
	}
	return mergePatch(before, after)
}
