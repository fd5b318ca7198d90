package observe

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
)

// TestServersAreAskedTogether: none of those that do not answer delays another.
func TestServersAreAskedTogether(t *testing.T) {
	t.Run("tidb-B33", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			members := make([]state.Member, atOnce)
			var asked sync.WaitGroup
			asked.Add(len(members))
			all := make(chan struct{})
			go func() {
				asked.Wait()
				close(all)
			}()
			each(t.Context(), members, func(ctx context.Context, m *state.Member) {
				asked.Done()
				select {
				case <-all:
					m.Database.Healthy = true
				case <-ctx.Done():
				}
			})
			for i, m := range members {
				if !m.Database.Healthy {
					t.Errorf("server %d waited for others in vain", i)
				}
			}
		})
	})
}
