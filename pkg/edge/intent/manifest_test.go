package intent

import (
	"errors"
	"strings"
	"testing"
)

func parse(text []byte) ([]*Manifest, []Other, error) {
	return Parse(Source{Name: "basic.yaml", Text: text})
}

func TestParse(t *testing.T) {
	all, _, err := parse([]byte("---\n# nothing here\n--- # the first\n" + manifest + "---\n" + strings.Replace(manifest, "name: basic", "name: second", 1) + "\n---\n"))
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
	if _, _, err := parse([]byte(`{"apiVersion":"pingcap.com/v1alpha1",` + "\n\t" + `"kind":"TidbCluster","metadata":{"name":"basic"},"spec":{}}`)); err != nil {
		t.Errorf("JSON: %v", err)
	}
}

func TestParseProblems(t *testing.T) {
	const head = "apiVersion: pingcap.com/v1alpha1\nkind: TidbCluster\nmetadata: {name: basic}\n"
	for _, tt := range []struct{ name, text, want string }{
		{"unknown field", head + "spec:\n  tikv:\n    replica: 3\n", "line 6: spec.tikv.replica: unknown field"},
		{"unknown field in a list", head + "spec:\n  tolerations:\n  - key: a\n  - kye: b\n", "line 7: spec.tolerations[1].kye: unknown field"},
		{"wrong case", head + "spec:\n  PD: {}\n", "line 5: spec.PD: unknown field"},
		{"wrong type", head + "spec:\n  tikv:\n    replicas: three\n", `line 6: spec.tikv.replicas: is the text "three", must be a whole number`},
		{"wrong type, embedded", head + "spec:\n  tikv:\n    replicas: 3\n    image: {a: b}\n", "line 7: spec.tikv.image: is an object, must be text"},
		{"twice", head + "spec:\n  version: v1\n  pd:\n    replicas: 3\n    replicas: 5\n", "line 8: spec.pd.replicas: is already in line 7"},
		{"no kind", "apiVersion: v1\nmetadata: {name: s}\n", "basic.yaml: line 1: kind: \"\" of \"v1\" is not a TidbCluster"},
		{"a list", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: pingcap.com/v1alpha1\n  kind: TidbCluster\n  metadata: {name: basic}\n  spec:\n    one: 1\n", "line 8: spec.one: unknown field"},
		{"a list of words", "apiVersion: v1\nkind: List\nitems:\n- one\n", "line 4: not an object"},
		{"a list by reference", "kind: List\napiVersion: v1\nall: &all\n- one\nitems: *all\n", "line 1: not an object"},
		{"a list by reference to fields", "kind: List\napiVersion: v1\nall: &all {items: [one]}\n<<: *all\n", "line 1: not an object"},
		{"separator", head + "---\n--- basic\n", "line 5: not YAML: "},
		{"after a long line and Windows' ends", "# " + strings.Repeat("long", 4000) + "\r\n---\r\n---\r\n" + head + "spec:\n  one: 1\n", "line 8: spec.one: unknown field"},
		{"another version", strings.Replace(head, "v1alpha1", "v2", 1), "\"TidbCluster\" of \"pingcap.com/v2\" is not a TidbCluster of pingcap.com/v1alpha1"},
		{"no name", "apiVersion: pingcap.com/v1alpha1\nkind: TidbCluster\nspec: {}\n", "metadata.name: missing"},
		{"no object", "- a\n- b\n", "line 1: not an object"},
		{"not YAML", head + "spec:\n  a: b: c\n", "line 5: not YAML"},
		{"second document", head + "---\n" + head + "spec:\n  bogus: 1\n", "line 9: spec.bogus: unknown field"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all, _, err := parse([]byte(tt.text))
			var wrong *ManifestError
			if !errors.As(err, &wrong) || all != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	_, _, err := parse([]byte(head + "spec:\n  one: 1\n  two: 2\n---\nkind: TidbCluster\n"))
	var wrong *ManifestError
	if !errors.As(err, &wrong) || len(wrong.Problems) != 3 {
		t.Errorf("all that is wrong at once: %v", err)
	}
}

// TestParseOthers: objects of other kinds are named, also those of a list, and so are all files in
// which something is wrong. Lines of a text that a program has made are not named.
func TestParseOthers(t *testing.T) {
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
	list := "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Service, metadata: {name: web}}]\n"
	all, others, err := Parse(Source{Name: "one.yaml", Text: []byte(secret + "---\n" + manifest)}, Source{Name: "two.yaml", Text: []byte(list)})
	if err != nil || len(all) != 1 || len(others) != 2 || others[0].String() != "Secret s (one.yaml)" || others[1].String() != "Service web (two.yaml)" {
		t.Errorf("%d TidbClusters, others %v, %v", len(all), others, err)
	}
	bad := []byte("apiVersion: pingcap.com/v1alpha1\nkind: TidbCluster\nmetadata: {name: basic}\none: 1\n")
	_, _, err = Parse(Source{Name: "one.yaml", Text: bad}, Source{Name: "two", Text: bad, Made: true})
	if want := "one.yaml: line 4: one: unknown field\ntwo: one: unknown field"; err == nil || err.Error() != want {
		t.Errorf("%v", err)
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
		all, _, err := parse([]byte(manifest))
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
