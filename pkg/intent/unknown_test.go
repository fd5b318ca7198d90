package intent

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestUnknownFields(t *testing.T) {
	u := named(t, "db", "basic")
	for _, path := range [][]string{{"spec", "tikv", "later"}, {"status", "later"}} {
		if err := unstructured.SetNestedField(u.Object, "x", path...); err != nil {
			t.Fatal(err)
		}
	}
	c, _ := client(t, u)
	got, err := c.Unknown(t.Context(), "db", "basic")
	if want := []string{"spec.fieldOfALaterVersion", "spec.tikv.later"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := c.Unknown(t.Context(), "db", "other"); err == nil {
		t.Error("there is no such TidbCluster")
	}
}
