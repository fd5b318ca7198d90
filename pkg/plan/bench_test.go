package plan_test

import (
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan/plantest"
)

// BenchmarkDecide decides for a big cluster: it must not be noticed beside the
// requests that an observation takes.
func BenchmarkDecide(b *testing.B) {
	for name, c := range map[string]*plantest.Cluster{
		"at rest": plantest.New(3, 300, 100),
		"rolling": plantest.New(3, 300, 100).Roll(tikv).Rolled(tikv, 299, 298, 297).Evicting("t-tikv-296", 0, 5),
	} {
		b.Run(name, func(b *testing.B) {
			profiles := component.Profiles()
			b.ReportAllocs()
			for b.Loop() {
				plan.Decide(profiles, c.Wanted, c.Seen)
			}
		})
	}
}
