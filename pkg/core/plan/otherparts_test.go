package plan_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestOtherPartsSuspended: PD and the stores beside PD are suspended when no member of another part runs any more. The
// servers go before.
func TestOtherPartsSuspended(t *testing.T) {
	all := []topology.Kind{topology.PD, topology.TiKV, topology.TiDB}
	parts := func(others ...state.RunningElsewhere) func(*plantest.Cluster) {
		return func(c *plantest.Cluster) { c.Seen.OtherParts.Running = others }
	}
	member := func(name string, suspended bool) state.RunningElsewhere {
		return state.RunningElsewhere{Member: name, Namespace: "db", Part: "more", Suspended: suspended}
	}
	unknown := func(c *plantest.Cluster) { c.Seen.OtherParts.Problem = "list tidbclusters in namespace db: no answer" }
	more := func(c *plantest.Cluster) {
		c.Seen.OtherParts.Unknown = true
		c.Seen.PD.OtherStores = []state.OtherStore{{Host: "old-tikv-0.old-tikv-peer.old.svc", State: state.StoreDown}, {Host: "more-tikv-0.more-tikv-peer.reports.svc", State: state.StoreUp}}
	}
	voter := func(c *plantest.Cluster) {
		c.Seen.OtherParts.Unknown = true
		c.Seen.PD.OtherVoters = []state.OtherVoter{{Name: "more-pd-0", ClientURL: "http://more-pd-0.more-pd-peer.reports.svc:2379", Healthy: true}}
	}
	across := func(c *plantest.Cluster) {
		c.Seen.OtherParts.Unknown, c.Seen.OtherParts.Across = true, true
		c.Seen.PD = state.PD{Problem: "PD does not answer"}
	}
	plantest.Waits(t, "otherparts", []plantest.Case{
		{Name: "the servers go", Cluster: suspend(all, parts(member("more-tikv-0", false)))},
		{Name: "the stores stay", Cluster: suspend(all, gone(tidb), parts(member("more-tikv-0", true), member("more-tikv-1", false)))},
		{Name: "PD stays", Cluster: suspend(all, gone(tidb, tikv), parts(member("more-tidb-0", false)))},
		{Name: "the other part is on its way", Cluster: suspend(all, gone(tidb), parts(member("more-tikv-0", true)))},
		{Name: "it is not known what runs", Cluster: suspend(all, gone(tidb, tikv), unknown)},
		{Name: "there may be more parts", Cluster: suspend(all, gone(tidb, tikv), more)},
		{Name: "only members of PD may be more parts", Cluster: suspend(all, gone(tidb, tikv), voter)},
		{Name: "PD, which parts in other Kubernetes clusters have used, does not answer", Cluster: suspend(all, gone(tidb, tikv), across)},
		{Name: "PD, which these parts have used, has no leader", Cluster: suspend(all, gone(tidb, tikv), across, func(c *plantest.Cluster) { c.Seen.PD.Leaderless = true })},
		{Name: "no other part runs", Cluster: suspend(all, gone(tidb))},
	})
}

// TestOtherPartsArePolled: no watch of this cluster reports that a member of another part ends.
func TestOtherPartsArePolled(t *testing.T) {
	c := suspend([]topology.Kind{topology.PD, topology.TiKV, topology.TiDB}, gone(tidb))
	if p := c.Decide(); p.Polls() {
		t.Errorf("no other part: %v", p.Gates)
	}
	c.Seen.OtherParts.Running = []state.RunningElsewhere{{Member: "more-tikv-0", Namespace: "db", Part: "more", Suspended: true}}
	if p := c.Decide(); !p.Polls() || p.Outcome != plan.Wait {
		t.Errorf("another part: %v, %v", p.Outcome, p.Gates)
	}
}

// TestSuspendPart: PD of another part stays, so what was begun in PD is ended also after the pods of a part are gone.
func TestSuspendPart(t *testing.T) {
	c := suspend([]topology.Kind{topology.TiKV, topology.TiDB}, gone(tidb, tikv), func(c *plantest.Cluster) {
		c.Evicting("t-tikv-3", time.Minute, 3)
		c.Wanted.Groups = slices.DeleteFunc(c.Wanted.Groups, func(g desired.Group) bool { return g.Kind == pd })
		delete(c.Seen.Groups, pd)
	})
	steps := c.Decide().Steps
	if len(steps) != 1 || !reflect.DeepEqual(steps[0], step.AllowLeaders{Member: "t-tikv-3", StoreID: c.Seen.Evictions[0].StoreID}) {
		t.Errorf("%v", steps)
	}
}
