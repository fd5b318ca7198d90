package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestDDLPauseEnds: a recorded pause of DDL ends when no upgrade of TiDB is under way or can go on without a person. It
// does not end in the middle of the upgrade, and never without a record.
func TestDDLPauseEnds(t *testing.T) {
	first := func(name string) step.Step {
		return step.EndDDLPause{Component: tidb, Member: name, PodUID: plantest.New(3, 3, 2).Member(name).Pod.UID}
	}
	for name, tt := range map[string]struct {
		record bool
		change func(*plantest.Cluster)
		want   step.Step
	}{
		"no record":                {false, func(*plantest.Cluster) {}, nil},
		"the upgrade is over":      {true, func(*plantest.Cluster) {}, first("t-tidb-0")},
		"in the middle":            {true, func(c *plantest.Cluster) { c.Roll(tidb).Rolled(tidb, 1) }, nil},
		"not yet begun":            {true, func(c *plantest.Cluster) { c.Roll(tidb) }, nil},
		"only TiKV is upgraded":    {true, func(c *plantest.Cluster) { c.Roll(tikv) }, first("t-tidb-0")},
		"the first server is down": {true, func(c *plantest.Cluster) { c.Down(0, "t-tidb-0") }, first("t-tidb-1")},
		"no server serves":         {true, func(c *plantest.Cluster) { c.Down(0, "t-tidb-0", "t-tidb-1") }, nil},
		"a person replaces the pods": {true, func(c *plantest.Cluster) {
			c.Roll(tidb).Rolled(tidb, 1).Set(tidb, func(s *state.Set) { s.Manual = true })
		}, first("t-tidb-0")},
		"a new server cannot start": {true, func(c *plantest.Cluster) { c.Roll(tidb).Rolled(tidb, 1).Down(time.Hour, "t-tidb-1") }, first("t-tidb-0")},
		"paused":                    {true, func(c *plantest.Cluster) { c.Wanted.Cluster.Paused = true }, nil},
	} {
		c := plantest.New(3, 3, 2)
		c.Wanted.Cluster.DDLPause.Recorded = tt.record
		tt.change(c)
		p := c.Decide()
		var got step.Step
		for _, s := range p.Steps {
			if end, is := s.(step.EndDDLPause); is {
				got = end
			}
		}
		if got != tt.want {
			t.Errorf("%s: %v, want %v\n%s", name, got, tt.want, plantest.Text(p))
		}
	}
}

// TestDDLPauseOfStoppedRun: a run that stops in the middle of the upgrade ends the pause, since nobody else would.
func TestDDLPauseOfStoppedRun(t *testing.T) {
	c := plantest.New(3, 3, 2)
	c.Roll(tidb).Rolled(tidb, 1)
	for _, recorded := range []bool{false, true} {
		c.Wanted.Cluster.DDLPause.Recorded = recorded
		steps, gates := plan.Undo(c.Wanted, c.Seen)
		ends := slices.ContainsFunc(steps, func(s step.Step) bool { k, _ := s.Target(); return k == topology.TiDB })
		if ends != recorded || len(gates) > 0 {
			t.Errorf("recorded %t: %v, %v", recorded, steps, gates)
		}
	}
}

// TestDDLPauseIsSaid: as long as DDL statements wait, status and runs say since when and why. Of a paused cluster they
// say that nothing ends the wait.
func TestDDLPauseIsSaid(t *testing.T) {
	record := topology.DDLPause{Recorded: true, Since: plantest.Now, From: "v8.1.0", To: "v8.5.0"}
	const text = "DDL statements of users wait since 2026-01-02T03:04:05Z, for an upgrade of TiDB from v8.1.0 to v8.5.0"
	for name, tt := range map[string]struct {
		pause  topology.DDLPause
		paused bool
		want   string
	}{
		"none":               {topology.DDLPause{}, false, ""},
		"none, paused":       {topology.DDLPause{}, true, ""},
		"one":                {record, false, "DDLPaused: " + text + ", and run again when it ends"},
		"one, paused":        {record, true, "BegunBeforePause: " + text + ": the pause of the cluster keeps them from running again"},
		"only that there is": {topology.DDLPause{Recorded: true}, false, "DDLPaused: DDL statements of users wait, for an upgrade of TiDB, and run again when it ends"},
	} {
		c := plantest.New(3, 3, 2).Roll(tidb)
		c.Wanted.Cluster.DDLPause, c.Wanted.Cluster.Paused = tt.pause, tt.paused
		got := ""
		for _, f := range c.Decide().Notices {
			got += string(f.Reason) + ": " + f.Text
		}
		if got = strings.ReplaceAll(got, plantest.Now.UTC().Format(time.RFC3339), "2026-01-02T03:04:05Z"); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
