package topology

import (
	"slices"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
)

// TestUnknown: a field that is not known counts for its component, and one that is of
// no component for all of them.
func TestUnknown(t *testing.T) {
	tc := &v1alpha1.TidbCluster{Spec: v1alpha1.TidbClusterSpec{PD: &v1alpha1.PDSpec{}, TiKV: &v1alpha1.TiKVSpec{}}}
	for _, c := range []struct {
		fields   []string
		pd, tikv []string
	}{
		{},
		{[]string{"spec.tikv.later"}, nil, []string{"spec.tikv.later"}},
		{[]string{"spec.later", "spec.tiflash.later"}, []string{"spec.later"}, []string{"spec.later"}},
		{[]string{"spec.helper.later", "spec.pd.a.b"}, []string{"spec.helper.later", "spec.pd.a.b"}, []string{"spec.helper.later"}},
	} {
		SetUnknown(tc, c.fields)
		if !slices.Equal(Unknown(tc), c.fields) {
			t.Errorf("%q: noted %q", c.fields, Unknown(tc))
		}
		groups := New(tc).Groups
		if !slices.Equal(groups[0].Unknown, c.pd) || !slices.Equal(groups[1].Unknown, c.tikv) {
			t.Errorf("%q: %q and %q", c.fields, groups[0].Unknown, groups[1].Unknown)
		}
	}
}
