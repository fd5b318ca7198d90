package intent

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	all, err := Parse([]byte("---\n# nothing here\n--- # the first\n" + manifest + "---\n" + strings.Replace(manifest, "name: basic", "name: second", 1) + "\n---\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].Cluster.Name != "basic" || all[1].Cluster.Name != "second" {
		t.Fatalf("got %d", len(all))
	}
	spec := all[0].Cluster.Spec
	if spec.PD.Replicas != 3 || spec.Paused || spec.TiKV != nil || spec.SchedulerName != "" {
		t.Errorf("%+v", spec)
	}
	if _, err := Parse([]byte(`{"apiVersion":"pingcap.com/v1alpha1",` + "\n\t" + `"kind":"TidbCluster","metadata":{"name":"basic"},"spec":{}}`)); err != nil {
		t.Errorf("JSON: %v", err)
	}
}

func TestParseProblems(t *testing.T) {
	const head = "apiVersion: pingcap.com/v1alpha1\nkind: TidbCluster\nmetadata: {name: basic}\n"
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "# only a comment\n", "there is no TidbCluster in it"},
		{"unknown field", head + "spec:\n  tikv:\n    replica: 3\n", "line 6: spec.tikv.replica: unknown field"},
		{"unknown field in a list", head + "spec:\n  tolerations:\n  - key: a\n  - kye: b\n", "line 7: spec.tolerations[1].kye: unknown field"},
		{"wrong case", head + "spec:\n  PD: {}\n", "line 5: spec.PD: unknown field"},
		{"wrong type", head + "spec:\n  tikv:\n    replicas: three\n", "line 6: spec.tikv.replicas: is a string, must be a int32"},
		{"wrong type, embedded", head + "spec:\n  tikv:\n    replicas: 3\n    image: {a: b}\n", "line 7: spec.tikv.image: is a object, must be a string"},
		{"twice", head + "spec:\n  version: v1\n  pd:\n    replicas: 3\n    replicas: 5\n", "line 8: spec.pd.replicas: is already in line 7"},
		{"another kind", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n", "line 2: kind: v1 Secret is not a TidbCluster"},
		{"another version", strings.Replace(head, "v1alpha1", "v2", 1), "pingcap.com/v2 TidbCluster is not a TidbCluster of pingcap.com/v1alpha1"},
		{"no name", "apiVersion: pingcap.com/v1alpha1\nkind: TidbCluster\nspec: {}\n", "metadata.name: missing"},
		{"no object", "- a\n- b\n", "line 1: not an object"},
		{"not YAML", head + "spec:\n  a: b: c\n", "line 5: not YAML"},
		{"second document", head + "---\n" + head + "spec:\n  bogus: 1\n", "line 9: spec.bogus: unknown field"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all, err := Parse([]byte(tt.text))
			var wrong *ManifestError
			if !errors.As(err, &wrong) || all != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	_, err := Parse([]byte(head + "spec:\n  one: 1\n  two: 2\n---\nkind: Pod\n"))
	var wrong *ManifestError
	if !errors.As(err, &wrong) || len(wrong.Problems) != 3 {
		t.Errorf("all that is wrong at once: %v", err)
	}
}

func TestInNamespace(t *testing.T) {
	for _, tt := range []struct {
		own, given string
		explicit   bool
		want       string
	}{
		{"", "db", false, "db"},
		{"", "db", true, "db"},
		{"prod", "db", false, "prod"},
		{"prod", "prod", true, "prod"},
		{"prod", "db", true, ""},
	} {
		all, err := Parse([]byte(manifest))
		if err != nil {
			t.Fatal(err)
		}
		m := all[0]
		m.Cluster.Namespace = tt.own
		m.object.SetNamespace(tt.own)
		err = m.InNamespace(tt.given, tt.explicit)
		if (err != nil) != (tt.want == "") {
			t.Errorf("%+v: %v", tt, err)
		}
		if err == nil && (m.Cluster.Namespace != tt.want || m.object.GetNamespace() != tt.want) {
			t.Errorf("%+v: %q and %q", tt, m.Cluster.Namespace, m.object.GetNamespace())
		}
	}
}
