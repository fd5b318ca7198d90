package intent

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestMalformed: a TidbCluster is loaded without the TOML that cannot be read.
func TestMalformed(t *testing.T) {
	u := object(t, stored)
	_ = unstructured.SetNestedField(u.Object, "[log]\nlevel = info\n", "spec", "tikv", "config")
	_ = unstructured.SetNestedField(u.Object, "level 5", "spec", "pd", "config")
	c, dyn := client(t, u)
	_, err := c.Load(t.Context(), "db", "basic")
	bad, ok := errors.AsType[*MalformedError](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	if !bad.Final() || bad.Cluster.Name != "basic" || bad.Cluster.UID != "tc-uid" || bad.Cluster.Spec.TiKV.Replicas != 3 ||
		bad.Cluster.Spec.TiKV.Config != nil || bad.Cluster.Spec.PD.Config != nil {
		t.Errorf("what is left of it: %+v", bad.Cluster)
	}
	for _, says := range []string{
		"tidbcluster db/basic has a configuration that cannot be read: ",
		"spec.pd.config: not valid TOML in its line 1, after key \"level\": ",
		"spec.tikv.config: not valid TOML in its line 2, after key \"log.level\": ",
		"kubectl edit tidbclusters basic -n db",
	} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%q is not in %q", says, err)
		}
	}
	_ = dyn.Tracker().Add(named(t, "db", "other"))
	list, err := c.List(t.Context(), "db", "")
	if len(list) != 2 || list[0].Name != "basic" || list[0].Spec.TiKV.Replicas != 3 || list[1].Name != "other" || err == nil {
		t.Errorf("list: %v, %v", list, err)
	}
}

// TestMalformedManifest: the error about a manifest has the line of the field.
func TestMalformedManifest(t *testing.T) {
	manifest := "apiVersion: pingcap.com/v1alpha1\nkind: TidbCluster\nmetadata: {name: basic}\nspec:\n  tikv:\n    replicas: 3\n    config: |\n      [log\n"
	_, _, err := parse([]byte(manifest))
	if err == nil || !strings.HasPrefix(err.Error(), "basic.yaml: line 7: spec.tikv.config: not valid TOML in its line 1") {
		t.Errorf("got %v", err)
	}
}
