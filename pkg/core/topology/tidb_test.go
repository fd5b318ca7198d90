package topology

import (
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
)

// TestFirstPassword: it is asked for until the status records that root has one.
func TestFirstPassword(t *testing.T) {
	no := false
	for name, tt := range map[string]struct {
		edit func(*v1alpha1.TidbCluster)
		want bool
	}{
		"not asked for":     {func(tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.Initializer = nil }, false},
		"refused":           {func(tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.Initializer.CreatePassword = false }, false},
		"asked for":         {func(*v1alpha1.TidbCluster) {}, true},
		"not yet":           {func(tc *v1alpha1.TidbCluster) { tc.Status.TiDB.PasswordInitialized = &no }, true},
		"recorded":          {func(tc *v1alpha1.TidbCluster) { tc.Status.TiDB.PasswordInitialized = yes() }, false},
		"without a Service": {func(tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.Service = nil }, true},
	} {
		tc := valid()
		tc.Spec.TiDB.Initializer = &v1alpha1.TiDBInitializer{CreatePassword: true}
		tt.edit(tc)
		c := New(tc)
		for _, g := range c.Groups {
			if want := tt.want && g.Kind == TiDB; g.FirstPassword != want {
				t.Errorf("%s: %s: %t, want %t", name, g.Kind, g.FirstPassword, want)
			}
		}
		if errs := Validate(c); len(errs) > 0 {
			t.Errorf("%s: %v", name, errs)
		}
		if got := c.InitSecret(); got != tc.Name+"-init" {
			t.Errorf("Secret %s", got)
		}
	}
}
