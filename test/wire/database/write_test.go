package database

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pump"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ticdc"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tidb"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// settled returns a cluster that has converged.
func settled(t *testing.T, o sim.Options) *sim.Model {
	t.Helper()
	o.PD, o.TiKV, o.TiDB = 3, 4, 1
	m := sim.New(o)
	m.Settle(time.Hour)
	if len(m.Broken) > 0 {
		t.Fatal(m.Broken)
	}
	return m
}

// clients are the real ones of a cluster's members.
type clients struct {
	*testing.T
	m  *sim.Model
	d  *Database
	on *network
	pd pd.Client
}

// ask runs what real clients do with the members of a model.
func ask(t *testing.T, m *sim.Model, what func(context.Context, clients)) {
	t.Helper()
	d := New(m)
	synctest.Test(t, func(t *testing.T) {
		on := newNetwork(d)
		defer on.Close()
		c := clients{T: t, m: m, d: d, on: on}
		var urls []string
		for i := range 3 {
			urls = append(urls, d.cluster.MemberURL(topology.PD, i, topology.PDClientPort))
		}
		c.pd = pd.New(pd.Config{URLs: urls, Dial: on.DialContext, Budget: 4 * time.Second})
		defer c.pd.Close()
		what(t.Context(), c)
	})
	if u := d.Unserved(); len(u) > 0 {
		t.Errorf("not served: %v", u)
	}
}

// must fails the test with an error.
func (c clients) must(what string, err error) {
	c.Helper()
	if err != nil {
		c.Fatalf("%s: %v", what, err)
	}
}

func (c clients) store(id uint64) sim.Store {
	stores, _ := c.m.Stores()
	return stores[slices.IndexFunc(stores, func(s sim.Store) bool { return s.ID == id })]
}

// TestMembersChange: PD's leader moves, and members leave.
func TestMembersChange(t *testing.T) {
	ask(t, settled(t, sim.Options{}), func(ctx context.Context, c clients) {
		leader, err := c.pd.Leader(ctx)
		c.must("leader", err)
		var others []sim.PDMember
		for _, m := range c.m.PDMembers() {
			if m.ID != leader.ID {
				others = append(others, m)
			}
		}
		c.must("transfer", c.pd.TransferLeader(ctx, others[0].Name))
		if c.m.PDLeader() != others[0].ID {
			c.Errorf("%d leads, not %d", c.m.PDLeader(), others[0].ID)
		}
		if err := c.pd.TransferLeader(ctx, "nobody"); !errors.Is(err, pd.ErrRefused) {
			c.Errorf("transfer to nobody: %v", err)
		}
		if err := c.pd.DeleteMember(ctx, others[0].ID); !errors.Is(err, pd.ErrIsLeader) {
			c.Errorf("delete the leader: %v", err)
		}
		for range 2 { // the second time there is none
			c.must("delete", c.pd.DeleteMember(ctx, others[1].ID))
		}
		if n := len(c.m.PDMembers()); n != 2 {
			c.Errorf("%d members", n)
		}
	})
}

// TestLeadersLeave: an eviction takes leaders off a store, a limit makes that slower, and they come back.
func TestLeadersLeave(t *testing.T) {
	ask(t, settled(t, sim.Options{}), func(ctx context.Context, c clients) {
		before := c.store(1).Leaders
		c.must("limit", c.pd.LimitLeaderMoves(ctx, 1, time.Minute))
		c.must("evict", c.pd.AddEvictLeader(ctx, 1))
		c.must("batch", c.pd.SetEvictBatch(ctx, 1))
		c.m.Pass(2)
		if left := before - c.store(1).Leaders; left != 100 {
			c.Errorf("%d leaders have left in two seconds", left)
		}
		c.m.Pass(60)
		if got, err := c.pd.EvictLeaderStores(ctx); err != nil || !slices.Equal(got, []uint64{1}) || c.store(1).Leaders > 0 {
			c.Errorf("evicting %v, %v; %d leaders", got, err, c.store(1).Leaders)
		}
		c.must("allow", c.pd.RemoveEvictLeader(ctx, 1))
		c.m.Pass(60)
		if c.store(1).Leaders == 0 || len(c.m.Evicting()) > 0 {
			c.Errorf("%+v, evicting %v", c.store(1), c.m.Evicting())
		}
		if err := c.pd.AddEvictLeader(ctx, 99); !errors.Is(err, pd.ErrNotFound) {
			c.Errorf("evict from no store: %v", err)
		}
	})
}

// TestStoresLeave: a store is taken offline, comes back, and leaves for good. PD keeps as many as there are replicas.
func TestStoresLeave(t *testing.T) {
	ask(t, settled(t, sim.Options{}), func(ctx context.Context, c clients) {
		c.must("delete", c.pd.DeleteStore(ctx, 1))
		if s := c.store(1).State; s != state.StoreOffline {
			c.Errorf("deleted: %s", s)
		}
		if err := c.pd.DeleteStore(ctx, 2); !errors.Is(err, pd.ErrRefused) || !strings.Contains(err.Error(), "can not remove store 2") {
			c.Errorf("delete one too many: %v", err)
		}
		c.must("restore", c.pd.SetStoreState(ctx, 1, pd.StoreUp))
		if s := c.store(1).State; s != state.StoreUp {
			c.Errorf("restored: %s", s)
		}
		c.must("labels", c.pd.SetStoreLabels(ctx, 1, map[string]string{"rack": "r1"}))
		if s, err := c.pd.Store(ctx, 1); err != nil || s.Labels["rack"] != "r1" || s.Labels["zone"] == "" {
			c.Errorf("labels: %+v, %v", s, err)
		}
		c.must("delete again", c.pd.DeleteStore(ctx, 1))
		c.m.Pass(300)
		if s := c.store(1).State; s != state.StoreTombstone {
			c.Errorf("after five minutes: %s", s)
		}
		c.must("delete a tombstone", c.pd.DeleteStore(ctx, 1))
		if err := c.pd.SetStoreState(ctx, 1, pd.StoreUp); !errors.Is(err, pd.ErrRefused) {
			c.Errorf("restore a tombstone: %v", err)
		}
		if _, err := c.pd.Store(ctx, 99); !errors.Is(err, pd.ErrNotFound) {
			c.Errorf("no store: %v", err)
		}
	})
}

// TestRulesAreEnabled: PD refuses to return placement rules until they are enabled.
func TestRulesAreEnabled(t *testing.T) {
	m := sim.New(sim.Options{PD: 3, TiKV: 3, TiDB: 1, TiFlash: 1, Learners: 1, RulesOff: true})
	for range 300 {
		if stores, _ := m.Stores(); len(stores) == 3 {
			break
		}
		_, _ = m.Drive(time.Second)
	}
	ask(t, m, func(ctx context.Context, c clients) {
		if _, _, enabled := c.m.PlacementRules(); !enabled {
			if _, err := c.pd.PlacementRules(ctx); !errors.Is(err, pd.ErrRefused) {
				c.Errorf("rules: %v", err)
			}
		}
		c.must("enable", c.pd.SetReplicationConfig(ctx, map[string]any{"enable-placement-rules": true}))
		groups, err := c.pd.PlacementRules(ctx)
		if err != nil || len(groups) != 2 || groups[1].ID != "tiflash" {
			c.Errorf("rules: %+v, %v", groups, err)
		}
	})
}

// TestCapturesAreDrained: tables leave a capture, and the owner leaves that to another one.
func TestCapturesAreDrained(t *testing.T) {
	ask(t, settled(t, sim.Options{TiCDC: 3, Feeds: 6}), func(ctx context.Context, c clients) {
		all, _ := c.m.Captures()
		owner := all[slices.IndexFunc(all, func(o sim.Capture) bool { return o.Owner })]
		other := all[slices.IndexFunc(all, func(o sim.Capture) bool { return !o.Owner })]
		client := ticdc.Client{HTTP: dial.Client(c.on.DialContext, nil, time.Second), URL: c.d.cluster.MemberURL(topology.TiCDC, 0, topology.TiCDCPort)}
		defer client.HTTP.CloseIdleConnections()
		if n, err := client.Drain(ctx, other.ID); err != nil || n != 2 {
			c.Errorf("%d tables, %v", n, err)
		}
		c.m.Pass(30)
		if n, err := client.Drain(ctx, other.ID); err != nil || n != 0 {
			c.Errorf("half a minute later: %d tables, %v", n, err)
		}
		if _, err := client.Drain(ctx, "none"); err == nil {
			c.Error("a capture that does not exist is drained")
		}
		c.must("resign", client.Resign(ctx))
		if _, err := client.Captures(ctx); !errors.Is(err, ticdc.ErrBusy) {
			c.Errorf("without an owner: %v", err)
		}
		c.m.Pass(30)
		if got, err := client.Captures(ctx); err != nil || len(got) != 3 || slices.Contains(got, ticdc.Capture{ID: owner.ID, Owner: true}) {
			c.Errorf("%+v, %v", got, err)
		}
	})
}

// TestPumpCloses: a Pump that is asked to close is offline a while later.
func TestPumpCloses(t *testing.T) {
	ask(t, settled(t, sim.Options{Pump: 2, Binlog: true}), func(ctx context.Context, c clients) {
		client := pump.Client{HTTP: dial.Client(c.on.DialContext, nil, time.Second), URL: c.d.cluster.MemberURL(topology.Pump, 1, topology.PumpPort)}
		defer client.HTTP.CloseIdleConnections()
		if err := client.Close(ctx, "basic-pump-0:8250"); !errors.Is(err, pump.ErrRefused) {
			c.Errorf("another Pump: %v", err)
		}
		c.must("close", client.Close(ctx, "basic-pump-1:8250"))
		c.m.Pass(5)
		nodes, err := c.pd.BinlogNodes(ctx)
		if err != nil || len(nodes) != 2 || nodes[0].State != "online" || nodes[1].State != "offline" {
			c.Errorf("%+v, %v", nodes, err)
		}
	})
}

// TestDDLIsPaused: TiDB pauses DDL, and ends that.
func TestDDLIsPaused(t *testing.T) {
	ask(t, settled(t, sim.Options{}), func(ctx context.Context, c clients) {
		client := tidb.Client{HTTP: dial.Client(c.on.DialContext, nil, time.Second)}
		defer client.HTTP.CloseIdleConnections()
		host := c.d.cluster.PodHost(topology.TiDB, 0)
		for range 2 {
			c.must("pause", client.PauseDDL(ctx, host))
			if is, err := client.DDLPaused(ctx, host); err != nil || !is {
				c.Errorf("paused %t, %v", is, err)
			}
		}
		for range 2 {
			c.must("resume", client.ResumeDDL(ctx, host))
		}
		if is, _ := c.m.DDLPaused(); is {
			c.Error("it is still paused")
		}
	})
}
