package intent

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestEdit: only what a person has changed is written, also beside fields that our types do not know,
// and it is recorded.
func TestEdit(t *testing.T) {
	u := object(t, stored)
	u.SetLabels(map[string]string{"env": "test", "team": "a"})
	c, dyn := client(t, u)
	d, err := c.Draft(t.Context(), "db", "basic")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("replicas: 2", "replicas: 3", "env: test", "env: prod", "team: a", "other: b").Replace(string(d.Text))
	m, err := d.Edited([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	change, err := c.Edit(d, m)
	if err != nil || change.Want.Spec.TiDB.Replicas != 3 || change.Want.Labels["env"] != "prod" {
		t.Fatalf("%v: %+v", err, change.Want)
	}
	changed(t, dyn, "9", "status", "clusterID") // a driver writes the status meanwhile
	if err := change.Write(t.Context(), Write{Action: "edit", At: noon}); err != nil {
		t.Fatal(err)
	}
	live, err := dyn.Tracker().Get(Resource, "db", "basic")
	if err != nil {
		t.Fatal(err)
	}
	got := live.(*unstructured.Unstructured)
	kept, _, _ := unstructured.NestedString(got.Object, "spec", "fieldOfALaterVersion", "keep")
	if l := got.GetLabels(); kept != "me" || l["env"] != "prod" || l["other"] != "b" || l["team"] != "" {
		t.Errorf("%q, %v", kept, l)
	}
	if back, last, err := c.Rollback(load(t, c)); err != nil || last.Action != "edit" || back.Want.Spec.TiDB.Replicas != 2 {
		t.Errorf("%v: %+v", err, last)
	}
}

// TestEditMeets: what others have changed in the spec meanwhile stays.
func TestEditMeets(t *testing.T) {
	c, dyn := client(t, object(t, stored))
	d, err := c.Draft(t.Context(), "db", "basic")
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Edited([]byte(strings.Replace(string(d.Text), "replicas: 2", "replicas: 4", 1)))
	if err != nil {
		t.Fatal(err)
	}
	change, err := c.Edit(d, m)
	if err != nil {
		t.Fatal(err)
	}
	changed(t, dyn, int64(5), "spec", "tidb", "replicas")
	if err := change.Write(t.Context(), Write{}); !errors.As(err, new(*ChangedError)) {
		t.Errorf("%v", err)
	}
}

// TestEdited: mistakes of the person's are found, and what was there before is none.
func TestEdited(t *testing.T) {
	c, dyn := client(t, object(t, stored))
	d, err := c.Draft(t.Context(), "db", "basic")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ from, to, says string }{
		"nothing":           {"", "", ""},
		"unknown":           {"replicas: 2", "replicsa: 2", "spec.tidb.replicsa: unknown field"},
		"another namespace": {"namespace: db", "namespace: other", "metadata.namespace: must stay db"},
		"another kind":      {"kind: TidbCluster", "kind: Pod", "is not a TidbCluster"},
		"finalizers":        {"  name: basic", "  finalizers: [a/b]\n  name: basic", "metadata.finalizers: is not changed by edit"},
		"owners":            {"  name: basic", "  name: basic\n  ownerReferences: [{name: x}]", "metadata.ownerReferences: is not changed by edit"},
		"two":               {"  name: basic\n  namespace: db", "  name: a\n  namespace: b", "metadata.name: must stay basic\nmetadata.namespace: must stay db"},
		"beside it":         {string(d.Text), string(d.Text) + "---\nkind: Pod\napiVersion: v1\nmetadata: {name: x}\n", "kind: Pod x is not a TidbCluster"},
		"none":              {string(d.Text), "# only a comment", "has 0 TidbClusters"},
	} {
		_, err := d.Edited([]byte(strings.Replace(string(d.Text), tt.from, tt.to, 1)))
		if (tt.says == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", name, err, tt.says)
		}
	}
	m, err := d.Edited(d.Text)
	if err != nil {
		t.Fatal(err)
	}
	change, err := c.Edit(d, m)
	if err == nil {
		err = change.Write(t.Context(), Write{Action: "edit", At: noon})
	}
	if err != nil || len(patched(dyn)) > 0 {
		t.Errorf("wrote what was not changed: %v, %q", err, patched(dyn))
	}
}

// TestDraftMalformed: a configuration that cannot be read can be corrected.
func TestDraftMalformed(t *testing.T) {
	u := object(t, stored)
	if err := unstructured.SetNestedField(u.Object, "[log\n", "spec", "tikv", "config"); err != nil {
		t.Fatal(err)
	}
	metadata := u.Object["metadata"].(map[string]any)
	metadata["annotations"] = map[string]any{topology.AnnotationLastChange: "{}"}
	c, _ := client(t, u)
	d, err := c.Draft(t.Context(), "db", "basic")
	if err != nil || strings.Contains(string(d.Text), topology.AnnotationLastChange) {
		t.Fatalf("%v: %s", err, d.Text)
	}
	if _, err := d.Edited(d.Text); err == nil || !strings.Contains(err.Error(), "spec.tikv.config") {
		t.Errorf("%v", err)
	}
	if _, err := d.Edited([]byte(strings.Replace(string(d.Text), "[log", "[log]", 1))); err != nil {
		t.Errorf("%v", err)
	}
}
