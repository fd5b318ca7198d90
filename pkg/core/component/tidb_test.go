package component_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestFirstPassword: one server that is up sets the password. Nothing that may help servers waits
// for the password.
func TestFirstPassword(t *testing.T) {
	const set, gate = "set the first password of root, in Secret t-init", "first password of root not set"
	for name, tt := range map[string]struct {
		change func(*plantest.Cluster)
		by     string // no server sets it where it is ""
		other  string // the first step where it is another one
		gate   string
	}{
		"the first server sets it":         {change: func(*plantest.Cluster) {}, by: "t-tidb-0", gate: gate},
		"it is not asked for":              {change: func(c *plantest.Cluster) { c.Want(topology.TiDB).FirstPassword = false }},
		"tidb-S15: there is no Service":    {change: func(c *plantest.Cluster) { c.Want(topology.TiDB).Services = nil }, by: "t-tidb-0", gate: gate},
		"the first one is down":            {change: func(c *plantest.Cluster) { c.Down(time.Second, "t-tidb-0") }, by: "t-tidb-1", gate: gate},
		"none is up":                       {change: func(c *plantest.Cluster) { c.Down(time.Second, "t-tidb-0", "t-tidb-1") }, gate: "not serving"},
		"a rollout comes first":            {change: func(c *plantest.Cluster) { c.Roll(topology.TiDB) }, other: "restart t-tidb-1"},
		"a rollout ends first":             {change: func(c *plantest.Cluster) { c.Roll(topology.TiDB).Rolled(topology.TiDB, 1) }, other: "restart t-tidb-0"},
		"a new template comes first":       {change: func(c *plantest.Cluster) { c.Want(topology.TiDB).Set.Drift = desired.Differs }, other: "update StatefulSet"},
		"a scale-out comes first":          {change: func(c *plantest.Cluster) { c.Want(topology.TiDB).Replicas = 3 }, other: "scale TiDB from 2 to 3"},
		"one that leaves does not set it":  {change: func(c *plantest.Cluster) { c.Want(topology.TiDB).Replicas = 1; c.Down(time.Second, "t-tidb-0") }, gate: "not serving"},
		"the user deletes pods":            {change: func(c *plantest.Cluster) { deletedByHand(c); c.Roll(topology.TiDB) }, by: "t-tidb-0", gate: gate},
		"TiDB is to be suspended":          {change: func(c *plantest.Cluster) { c.Want(topology.TiDB).Suspend = true }, other: "delete StatefulSet t-tidb"},
		"another component is rolled out":  {change: func(c *plantest.Cluster) { c.Roll(topology.TiKV) }, by: "t-tidb-0", gate: gate},
		"PD is away, so that nothing goes": {change: func(c *plantest.Cluster) { c.PDUnknown() }, gate: "PD"},
	} {
		t.Run(name, func(t *testing.T) {
			c := plantest.New(3, 3, 2)
			c.Want(topology.TiDB).FirstPassword = true
			tt.change(c)
			p := c.Decide()
			by := ""
			for _, s := range p.Steps {
				if s, is := s.(step.SetPassword); is {
					by += s.Member
				}
			}
			if by != tt.by {
				t.Errorf("set by %q, want %q", by, tt.by)
			}
			if tt.by == "" {
				expect(t, p, tt.other, tt.gate)
				return
			}
			if tt.gate != "" {
				expect(t, plan.Plan{Gates: p.Gates}, "", tt.gate)
			}
			for _, s := range p.Steps {
				if s, is := s.(step.SetPassword); is && s.String() != set {
					t.Errorf("%q, want %q", s, set)
				}
			}
			help := "set a password of root with an SQL client: it is kept, and recorded; or see its log: kubectl logs " + tt.by + " -c tidb -n ns"
			for _, g := range p.Gates {
				if g.Reason == plan.FirstPasswordSet && g.Remedy.Line("") != help {
					t.Errorf("%q, want %q", g.Remedy.Line(""), help)
				}
			}
		})
	}
}

// deletedByHand leaves it to the user to delete pods of TiDB.
func deletedByHand(c *plantest.Cluster) {
	c.Want(topology.TiDB).Manual = true
	c.Set(topology.TiDB, func(s *state.Set) { s.Manual = true })
}

// TestFirstPasswordWaits: what TiDB's later rollouts need waits for it, and stores do not.
func TestFirstPasswordWaits(t *testing.T) {
	c := plantest.NewCaptures(3, 3, 2, 2).Roll(topology.TiCDC)
	c.Want(topology.TiDB).FirstPassword = true
	expect(t, c.Decide(), "set the first password", "rollout queued behind TiDB")
	c = plantest.New(3, 3, 2)
	c.Want(topology.TiDB).FirstPassword = true
	c.Policy.Later = []topology.Kind{topology.TiDB}
	c.Roll(topology.TiKV)
	expect(t, c.Decide(), "evict region leaders from t-tikv-2", "first password of root not set")
}

// TestDDLPauseBegins: a pause of DDL begins before a server that serves is restarted onto a release for whose upgrade
// TiDB can pause. It never begins for any other restart. Nothing waits for a pause that this process has asked for.
func TestDDLPauseBegins(t *testing.T) {
	const pause, restart = "pause DDL statements for the upgrade from v8.1.0 to v8.5.0, by t-tidb-0", "restart t-tidb-1"
	upgrade := func() *plantest.Cluster {
		c := plantest.New(3, 3, 2).Roll(topology.TiDB)
		c.Want(topology.TiDB).PausesDDL, c.Want(topology.TiDB).Version = true, "v8.5.0"
		c.Member("t-tidb-0").Pod.Version, c.Member("t-tidb-1").Pod.Version = "v8.1.0", "v8.1.0"
		return c
	}
	rolled := func(c *plantest.Cluster) { c.Rolled(topology.TiDB, 1).Member("t-tidb-1").Pod.Version = "v8.5.0" }
	for name, tt := range map[string]struct {
		change func(*plantest.Cluster)
		first  string // step
		gate   string
	}{
		"an upgrade":                           {func(*plantest.Cluster) {}, pause, "t-tidb-1: DDL statements not paused"},
		"in the middle, as after an interrupt": {rolled, pause, "t-tidb-0: DDL statements not paused"},
		"the process reports another release":  {func(c *plantest.Cluster) { c.Member("t-tidb-1").Database.Version = "v7.3.0" }, restart, ""},
		"the pause is on":                      {func(c *plantest.Cluster) { c.Wanted.Cluster.DDLPause.Recorded = true }, restart, ""},
		"the pause is on, in the middle":       {func(c *plantest.Cluster) { rolled(c); c.Wanted.Cluster.DDLPause.Recorded = true }, "restart t-tidb-0", ""},
		"this process has asked":               {func(c *plantest.Cluster) { c.Policy.DDLAsked = "v2" }, restart, ""},
		"it has asked for another rollout":     {func(c *plantest.Cluster) { c.Policy.DDLAsked = "v0" }, pause, ""},
		"the user wants no pause":              {func(c *plantest.Cluster) { c.Want(topology.TiDB).PausesDDL = false }, restart, ""},
		"only the configuration differs":       {func(c *plantest.Cluster) { c.Want(topology.TiDB).Version = "v8.1.0" }, restart, ""},
		"a downgrade":                          {func(c *plantest.Cluster) { c.Want(topology.TiDB).Version = "v7.5.0" }, restart, ""},
		"the version is not known":             {func(c *plantest.Cluster) { c.Want(topology.TiDB).Version = "" }, restart, ""},
		"a canary": {func(c *plantest.Cluster) {
			c.Want(topology.TiDB).Held, c.Want(topology.TiDB).Canary = true, 1
		}, restart, ""},
		"Kubernetes is about to replace its pod": {func(c *plantest.Cluster) {
			c.Set(topology.TiDB, func(s *state.Set) { s.Partition = 1 })
		}, "", "pod not replaced"},
		"the user deletes pods": {deletedByHand, "", "pod not replaced"},
		"the server is down":    {func(c *plantest.Cluster) { c.Down(time.Hour, "t-tidb-1") }, restart, ""},
		"TiKV comes first":      {func(c *plantest.Cluster) { c.Roll(topology.TiKV) }, "evict region leaders from t-tikv-2", "rollout queued behind TiKV"},
		"the paused cluster":    {func(c *plantest.Cluster) { c.Wanted.Cluster.Paused = true }, "", ""},
		"a node with others is under maintenance": {func(c *plantest.Cluster) {
			c.Wanted.Cluster.Maintained = []topology.Maintenance{{Node: "node-2", Since: plantest.Now}}
		}, "", "node under maintenance"},
		"one server alone": {func(c *plantest.Cluster) {
			c.Want(topology.TiDB).Replicas = 1
			c.Set(topology.TiDB, func(s *state.Set) { s.Replicas, s.Partition = 1, 1 })
			g := c.Seen.Groups[topology.TiDB]
			g.Members = g.Members[:1]
			c.Seen.Groups[topology.TiDB] = g
		}, pause, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := upgrade()
			tt.change(c)
			expect(t, c.Decide(), tt.first, tt.gate)
		})
	}
	if p := upgrade().Decide(); !p.MustBeLive() {
		t.Error("a pause is begun on an old observation")
	}
}
