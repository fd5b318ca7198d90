package facts_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestOfflineStoreThatRuns: the heartbeats of a store that leaves PD go on. The last one does not begin a wait again, which
// would never end then.
func TestOfflineStoreThatRuns(t *testing.T) {
	c := plantest.New(3, 4, 2).Offline("t-tikv-1")
	m, group := c.Member("t-tikv-1"), c.Seen.Groups[topology.TiKV]
	tikv := facts.Component{Cluster: &c.Wanted.Cluster, Want: c.Want(topology.TiKV), Got: &group, All: &c.Seen}
	m.Database.Since = plantest.Now.Add(-time.Second)
	if since := tikv.NotServingSince(*m); !since.IsZero() {
		t.Errorf("offline: since %s", since)
	}
	m.Database.State = state.StoreDisconnected
	if since := tikv.NotServingSince(*m); !since.Equal(m.Database.Since) {
		t.Errorf("disconnected: since %s", since)
	}
}
