package topology

import (
	"slices"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
)

// TestRestoreStorage: the volumes that a user adds to servers get the sizes and classes of the claim templates again.
func TestRestoreStorage(t *testing.T) {
	const gi = 1 << 30
	templates := map[string]Volume{
		"tidb-log":  {Name: "tidb-log", Size: 2 * gi},
		"tidb-slow": {Name: "tidb-slow", Size: 3 * gi, Class: "standard"},
	}
	for name, c := range map[string]struct {
		component       string // the storage class of the component
		log, slow       string // those of the volumes
		wantLog, wantIs string // after that: the class of each volume
	}{
		"classes of the volumes":     {"", "fast", "fast", "", "standard"},
		"the class of the component": {"fast", "", "", "", ""}, // any class fits
		"as before":                  {"", "", "standard", "", "standard"},
	} {
		t.Run(name, func(t *testing.T) {
			class := func(name string) *string {
				if name == "" {
					return nil
				}
				return &name
			}
			tc := &v1alpha1.TidbCluster{Spec: v1alpha1.TidbClusterSpec{TiDB: &v1alpha1.TiDBSpec{
				StorageClassName: class(c.component),
				StorageVolumes: []v1alpha1.StorageVolume{
					{Name: "log", StorageSize: "1Gi", StorageClassName: class(c.log)}, {Name: "slow", StorageSize: "1Gi", StorageClassName: class(c.slow)},
				},
			}}}
			RestoreStorage(tc, TiDB, templates)
			spec, _ := part(tc, TiDB)
			want := []Volume{{Name: "tidb-log", Size: 2 * gi, Class: c.wantLog}, {Name: "tidb-slow", Size: 3 * gi, Class: c.wantIs}}
			same := func(a, b Volume) bool { return a.Name == b.Name && a.Size == b.Size && a.Class == b.Class }
			if got := volumes(TiDB, spec); !slices.EqualFunc(got, want, same) {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}
