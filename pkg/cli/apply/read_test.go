package apply

import (
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// TestPick: a name picks one of several TidbClusters. A namespace that was given decides between two with that name.
func TestPick(t *testing.T) {
	tc := func(name, namespace string) string {
		return strings.Replace(manifest, "name: basic", "name: "+name+", namespace: "+namespace, 1)
	}
	tree(t, map[string]string{"all/a.yaml": tc("basic", "dev"), "all/b.yaml": tc("basic", "prod") + "---\n" + tc("second", "dev")})
	for _, c := range []struct{ name, namespace, picks, says string }{
		{"second", "", "dev/second", ""},
		{"second", "prod", "", `TidbCluster second has namespace "dev" in the manifest`},
		{"basic", "", "", "TidbClusters of several namespaces in all have the name basic: give one namespace with -n (dev, prod)"},
		{"basic", "prod", "prod/basic", ""},
		{"basic", "test", "", `there is no TidbCluster "basic" for namespace test in all`},
		{"third", "", "", `there is no TidbCluster "third" in all, which has basic, basic, second`},
	} {
		f := nothing()
		*f.Flags.Namespace = c.namespace
		got, _, err := named("all").read(t.Context(), f, []string{c.name})
		if c.says != "" {
			if exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s in %q: exit code %d, %v", c.name, c.namespace, exit.Of(err), err)
			}
			continue
		}
		if err != nil || len(got) != 1 || got[0].Cluster.Namespace+"/"+got[0].Cluster.Name != c.picks {
			t.Errorf("%s in %q: %v, %v", c.name, c.namespace, got, err)
		}
	}
}

// TestInOrder: a part comes after the part with PD, and before it where PD is to be suspended. The order of the
// manifests stays for the others.
func TestInOrder(t *testing.T) {
	cluster := func(name, joins string, suspended bool) input {
		tc := &v1alpha1.TidbCluster{}
		tc.Namespace, tc.Name, tc.Spec.PD = "db", name, &v1alpha1.PDSpec{}
		if joins != "" {
			tc.Spec.PD, tc.Spec.Cluster = nil, &v1alpha1.TidbClusterRef{Name: joins}
		}
		if suspended {
			tc.Spec.SuspendAction = &v1alpha1.SuspendAction{SuspendStatefulSet: true}
		}
		return input{manifest: &intent.Manifest{Cluster: tc}}
	}
	for want, inputs := range map[string][]input{
		"b a c":    {cluster("b", "", false), cluster("a", "", false), cluster("c", "", false)},
		"z pd a b": {cluster("a", "pd", false), cluster("z", "", false), cluster("pd", "", false), cluster("b", "pd", false)},
		"a b pd z": {cluster("pd", "", true), cluster("a", "pd", true), cluster("b", "pd", true), cluster("z", "", false)},
		"a b":      {cluster("a", "b", false), cluster("b", "a", false)}, // refused by the check
	} {
		var got []string
		for _, i := range inOrder(inputs) {
			got = append(got, i.asked().Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
