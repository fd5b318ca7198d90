package finding_test

import (
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/finding"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestCommands: what the remedies of redundancy name.
func TestCommands(t *testing.T) {
	zoned := func(labels ...string) func(*sick) {
		return func(s *sick) {
			s.zones("a", "b", "c", "a")
			s.Seen.PD.LocationLabels = labels
		}
	}
	size := func(pd int) func(*sick) { return func(s *sick) { s.Cluster = plantest.New(pd, 4, 2) } }
	for _, c := range []struct {
		name   string
		change func(*sick)
		id     finding.ID
		want   string
	}{
		{"the short label", zoned("zone", "host"), "isolation-level-none", "isolation-level zone"},
		{"that of Kubernetes", zoned("topology.kubernetes.io/zone", "kubernetes.io/hostname"), "isolation-level-none", "isolation-level topology.kubernetes.io/zone"},
		{"not the widest", zoned("region", "zone"), "isolation-level-none", "isolation-level zone"},
		{"no zones among them", zoned("rack", "host"), "isolation-level-none", "isolation-level rack"},
		{"one member of PD", size(1), "pd-single", "pd=3"},
		{"two members of PD", size(2), "pd-even", "pd=3"},
		{"four members of PD", size(4), "pd-even", "pd=5"},
		{"one member of PD elsewhere too", func(s *sick) {
			s.Cluster = plantest.New(1, 4, 2)
			s.Seen.PD.Members = 2
		}, "pd-even", "pd=2"},
	} {
		s := healthy()
		c.change(s)
		if got := with(s.find(), c.id); len(got) != 1 || !strings.Contains(got[0].Remedy.Line("")+" ", c.want+" ") {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
