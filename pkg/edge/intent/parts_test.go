package intent

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestParts: parts of the same namespace count, and those of other namespaces where they are let in. Others make it unknown
// whether these are all, and so does a right that is missing. No TidbCluster of another namespace makes it fail.
func TestParts(t *testing.T) {
	joining := func(namespace, name string) *unstructured.Unstructured {
		u := named(t, namespace, name)
		_ = unstructured.SetNestedStringMap(u.Object, map[string]string{"namespace": "db", "name": "basic"}, "spec", "cluster")
		return u
	}
	undecodable := func(namespace string) *unstructured.Unstructured {
		u := named(t, namespace, "broken")
		_ = unstructured.SetNestedField(u.Object, "three", "spec", "pd", "replicas")
		return u
	}
	malformed := func(u *unstructured.Unstructured) *unstructured.Unstructured {
		_ = unstructured.SetNestedField(u.Object, "= 1", "spec", "tikv", "config")
		return u
	}
	for name, tt := range map[string]struct {
		there    []runtime.Object
		lets     string
		denied   bool // other namespaces may not be read
		parts    int
		domain   string
		joins    *v1alpha1.TidbClusterRef
		complete bool
		fails    bool
	}{
		"none":                                 {complete: true},
		"names for other Kubernetes clusters":  {domain: "eu.example"},
		"a part, whose PD others use as well":  {domain: "eu.example", joins: &v1alpha1.TidbClusterRef{Name: "basic", ClusterDomain: "us.example"}, complete: true},
		"in its namespace":                     {there: []runtime.Object{joining("db", "more")}, parts: 1, complete: true},
		"let in":                               {there: []runtime.Object{joining("db", "more"), joining("reports", "more")}, lets: "reports", parts: 2, complete: true},
		"not let in":                           {there: []runtime.Object{joining("db", "more"), joining("reports", "more")}, parts: 1},
		"others may not be read":               {there: []runtime.Object{joining("db", "more")}, denied: true, parts: 1},
		"one elsewhere cannot be decoded":      {there: []runtime.Object{joining("db", "more"), undecodable("reports")}, parts: 1},
		"a malformed one beside this one":      {there: []runtime.Object{malformed(named(t, "db", "broken"))}, complete: true},
		"a malformed part":                     {there: []runtime.Object{malformed(joining("db", "more"))}, parts: 1, complete: true},
		"one beside this one is not decodable": {there: []runtime.Object{undecodable("db")}, fails: true},
	} {
		c, dyn := client(t, append(tt.there, object(t, stored))...)
		dyn.PrependReactor("list", "tidbclusters", func(a clienttesting.Action) (bool, runtime.Object, error) {
			return tt.denied && a.GetNamespace() == "", nil, apierrors.NewForbidden(Resource.GroupResource(), "", errors.New("no"))
		})
		tc, err := c.Load(t.Context(), "db", "basic")
		if err != nil {
			t.Fatal(err)
		}
		tc.Annotations = map[string]string{topology.AnnotationPartsIn: tt.lets}
		tc.Spec.ClusterDomain, tc.Spec.Cluster = tt.domain, tt.joins
		parts, err := c.Parts(t.Context(), topology.New(tc))
		complete := !parts.MayBeMore() && err == nil
		if len(parts.Known) != tt.parts || complete != tt.complete || (err != nil) != tt.fails {
			t.Errorf("%s: %+v, %v", name, parts, err)
		}
	}
}

// TestLoadOther: the UID that a user expects is that of the TidbCluster of the command, and not of the TidbCluster that a
// part joins.
func TestLoadOther(t *testing.T) {
	c, _ := client(t, object(t, stored))
	c.Expect("another")
	if _, err := c.Load(t.Context(), "db", "basic"); !Gone(err) {
		t.Errorf("loaded with another UID: %v", err)
	}
	if tc, err := c.LoadOther(t.Context(), "db", "basic"); err != nil || tc.Name != "basic" {
		t.Errorf("%v", err)
	}
}
