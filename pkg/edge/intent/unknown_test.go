package intent

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func TestUnknownFields(t *testing.T) {
	u := named(t, "db", "basic")
	for _, path := range [][]string{{"spec", "tikv", "later"}, {"status", "later"}} {
		if err := unstructured.SetNestedField(u.Object, "x", path...); err != nil {
			t.Fatal(err)
		}
	}
	c, _ := client(t, u)
	tc, err := c.Load(t.Context(), "db", "basic")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := topology.Unknown(tc), []string{"spec.fieldOfALaterVersion", "spec.tikv.later"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
