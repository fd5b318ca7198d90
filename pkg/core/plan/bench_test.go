package plan_test

import (
	"fmt"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// BenchmarkDecide decides for clusters that grow tenfold. A decision must be short compared with
// the requests of an observation, so at most 1 ms for 300 stores. Its time must not grow faster
// than the cluster.
func BenchmarkDecide(b *testing.B) {
	for _, size := range []struct{ stores, servers int }{{30, 10}, {300, 100}, {3000, 1000}} {
		at := func() *plantest.Cluster { return plantest.New(3, size.stores, size.servers) }
		last := size.stores - 1
		for _, c := range []struct {
			name    string
			cluster *plantest.Cluster
		}{
			{"converged", at()},
			{"rolling", at().Roll(tikv).Rolled(tikv, last, last-1, last-2).Evicting(fmt.Sprintf("t-tikv-%d", last-3), 0, 5)},
			{"half rolled", at().Roll(tikv).Rolled(tikv, upper(size.stores)...)},
		} {
			b.Run(fmt.Sprintf("%s/3-%d-%d", c.name, size.stores, size.servers), func(b *testing.B) {
				profiles := component.Profiles()
				b.ReportAllocs()
				for b.Loop() {
					plan.Decide(profiles, c.cluster.Policy, c.cluster.Wanted, c.cluster.Seen)
				}
			})
		}
	}
}

// upper returns the upper half of n ordinals, from the top.
func upper(n int) []int {
	var ordinals []int
	for i := n - 1; i >= n/2; i-- {
		ordinals = append(ordinals, i)
	}
	return ordinals
}
