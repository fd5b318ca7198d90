package component_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

func pumpNamed(c *plantest.Cluster, name string) *state.Pump { return &c.Member(name).Database.Pump }

// TestPump is scale-in, and what else depends on the state of a Pump.
func TestPump(t *testing.T) {
	mark := func(c *plantest.Cluster) { c.Member("t-pump-1").Claims[0].Marked = true }
	scaled := func(from, to int, change func(*plantest.Cluster)) *plantest.Cluster {
		c := plantest.NewPumps(3, 3, from, 2)
		c.Want(topology.Pump).Replicas = to
		change(c)
		return c
	}
	pump := func(s state.PumpState) func(*plantest.Cluster) {
		return func(c *plantest.Cluster) { c.Pump("t-pump-1", s) }
	}
	both := func(all ...func(*plantest.Cluster)) func(*plantest.Cluster) {
		return func(c *plantest.Cluster) {
			for _, f := range all {
				f(c)
			}
		}
	}
	last := func(s state.PumpState) func(*plantest.Cluster) {
		return func(c *plantest.Cluster) { c.Pump("t-pump-0", s) }
	}
	asleep := func(c *plantest.Cluster) { c.Binlog(false).Want(topology.Pump).Suspend = true }
	leaving := func(change func(*plantest.Cluster)) *plantest.Cluster {
		return scaled(3, 1, func(c *plantest.Cluster) {
			c.Want(topology.Pump).ScaleIn = 2
			c.Pump("t-pump-2", state.PumpPaused).Member("t-pump-2").Pod = nil
			change(c)
		})
	}
	plantest.Waits(t, "pump", []plantest.Case{
		{Name: "converged", Cluster: scaled(2, 2, func(*plantest.Cluster) {})},
		{Name: "scale-out", Cluster: scaled(2, 3, func(*plantest.Cluster) {})},
		{Name: "scale-in closes it", Cluster: scaled(2, 1, func(*plantest.Cluster) {})},
		{Name: "it closes, without a drainer", Cluster: scaled(2, 1, pump(state.PumpClosing))},
		{Name: "it closes, and a drainer reads", Cluster: scaled(2, 1, both(pump(state.PumpClosing), func(c *plantest.Cluster) {
			pumpNamed(c, "t-pump-1").Reader, pumpNamed(c, "t-pump-1").Behind = "drainer-0", 90*time.Second
		}))},
		{Name: "with TLS", Cluster: scaled(2, 1, both(pump(state.PumpClosing), func(c *plantest.Cluster) { c.Wanted.Cluster.TLS.Members = true }))},
		{Name: "tidb-S8: it is offline already", Cluster: scaled(2, 1, pump(state.PumpOffline))},
		{Name: "it is offline, and its claim is marked", Cluster: scaled(2, 1, both(pump(state.PumpOffline), mark))},
		{Name: "tidb-S8: it runs again, and its claim is marked", Cluster: scaled(2, 1, mark)},
		{Name: "tidb-S8: it runs again, and has not registered yet", Cluster: scaled(2, 1, both(mark, func(c *plantest.Cluster) {
			m := c.Member("t-pump-1")
			m.Database, m.Pod.Started = state.Database{Presence: state.Absent}, plantest.Now.Add(-5*time.Second)
		}))},
		{Name: "tidb-S8: its pod was deleted just when it ran again", Cluster: func() *plantest.Cluster {
			c := plantest.NewPumps(3, 3, 1, 2)
			m := c.Add(topology.Pump)
			m.Claims[0].Marked, m.Database.Pump.State, m.NotServing = true, state.PumpPaused, plantest.Now.Add(-time.Hour)
			return c
		}()},
		{Name: "it is paused", Cluster: scaled(2, 1, both(pump(state.PumpPaused), func(c *plantest.Cluster) { c.Member("t-pump-1").Database.Answer = state.Refused }))},
		{Name: "it does not answer", Cluster: scaled(2, 1, func(c *plantest.Cluster) {
			c.Member("t-pump-1").Database.Healthy, c.Member("t-pump-1").Database.Answer = false, state.Refused
		})},
		{Name: "it was killed, and its pod does not come back", Cluster: scaled(2, 1, func(c *plantest.Cluster) { c.Down(time.Hour, "t-pump-1") })},
		{Name: "it has never registered", Cluster: scaled(2, 1, func(c *plantest.Cluster) {
			c.Down(time.Hour, "t-pump-1")
			c.Member("t-pump-1").Database = state.Database{Presence: state.Absent}
		})},
		{Name: "tidb-S9: it is not known which Pumps there are", Cluster: scaled(2, 1, unread)},
		{Name: "the other one is down", Cluster: scaled(2, 1, func(c *plantest.Cluster) { c.Down(time.Minute, "t-pump-0") })},
		{Name: "the last one, and TiDB writes", Cluster: scaled(1, 0, func(*plantest.Cluster) {})},
		{Name: "the last one, and TiDB's first pods are about to be made", Cluster: scaled(1, 0, func(c *plantest.Cluster) {
			g := c.Seen.Groups[topology.TiDB]
			for i := range g.Members {
				g.Members[i].Pod = nil
			}
		})},
		{Name: "the last one here, and another one elsewhere", Cluster: scaled(1, 0, func(c *plantest.Cluster) { c.Seen.PD.OtherPumps = 1 })},
		{Name: "the last one, and TiDB does not write", Cluster: scaled(1, 0, func(c *plantest.Cluster) { c.Binlog(false) })},
		{Name: "the last one, and TiDB is not restarted yet", Cluster: scaled(1, 0, func(c *plantest.Cluster) { c.WantBinlog(false) })},
		{Name: "the last one, and TiDB is being restarted for that", Cluster: scaled(1, 0, func(c *plantest.Cluster) {
			c.WantBinlog(false).Roll(topology.TiDB)
		})},
		{Name: "the last one, and it was closed", Cluster: scaled(1, 0, last(state.PumpClosing))},
		{Name: "the last one, and it is offline", Cluster: scaled(1, 0, last(state.PumpOffline))},
		{Name: "the last one that serves, and the other one was killed", Cluster: scaled(2, 0, func(c *plantest.Cluster) {
			c.Member("t-pump-0").Database.Healthy, c.Member("t-pump-0").Database.Answer = false, state.Refused
		})},
		{Name: "two leave, and the second has no pod, which Kubernetes makes only while the first is ready", Cluster: leaving(func(c *plantest.Cluster) {
			c.Set(topology.Pump, func(s *state.Set) { s.Ordered = true })
		})},
		{Name: "two leave, and Kubernetes makes the pod of the second in any case", Cluster: leaving(func(*plantest.Cluster) {})},
		{Name: "two leave, and the data of the second is gone", Cluster: leaving(func(c *plantest.Cluster) {
			c.Set(topology.Pump, func(s *state.Set) { s.Ordered = true }).Member("t-pump-2").Claims = nil
		})},
		{Name: "two leave, and the second is offline", Cluster: leaving(func(c *plantest.Cluster) {
			c.Set(topology.Pump, func(s *state.Set) { s.Ordered = true }).Pump("t-pump-2", state.PumpOffline)
		})},
		{Name: "two leave, and both run", Cluster: leaving(func(c *plantest.Cluster) {
			m := c.Set(topology.Pump, func(s *state.Set) { s.Ordered = true }).Pump("t-pump-2", state.PumpOnline).Member("t-pump-2")
			m.Pod = &state.Pod{UID: "uid-2", Ready: true, Started: plantest.Now.Add(-time.Hour)}
		})},
		{Name: "two leave, the first closes, and the second has no pod", Cluster: leaving(func(c *plantest.Cluster) {
			c.Set(topology.Pump, func(s *state.Set) { s.Ordered = true }).Pump("t-pump-1", state.PumpClosing)
		})},
		{Name: "two leave, and the first has no pod, which the second does not wait for", Cluster: scaled(3, 1, func(c *plantest.Cluster) {
			c.Want(topology.Pump).ScaleIn = 2
			c.Set(topology.Pump, func(s *state.Set) { s.Ordered = true }).Pump("t-pump-1", state.PumpPaused).Member("t-pump-1").Pod = nil
		})},
		{Name: "its pod is gone, and Kubernetes makes it again", Cluster: scaled(2, 1, func(c *plantest.Cluster) {
			c.Set(topology.Pump, func(s *state.Set) { s.Ordered = true }).Down(time.Minute, "t-pump-1").Member("t-pump-1").Pod = nil
		})},
		{Name: "its pod is gone, and it wrote a moment ago", Cluster: scaled(2, 1, func(c *plantest.Cluster) { c.Member("t-pump-1").Pod = nil })},
		{Name: "its pod is gone, and of the others one is ready", Cluster: scaled(3, 2, func(c *plantest.Cluster) {
			c.Down(time.Minute, "t-pump-0", "t-pump-2").Member("t-pump-2").Pod = nil
		})},
		{Name: "it is online, and a drainer reads", Cluster: scaled(2, 1, func(c *plantest.Cluster) {
			pumpNamed(c, "t-pump-1").Reader, pumpNamed(c, "t-pump-1").Behind = "drainer-0", time.Minute
		})},
		{Name: "the last one whose pod is ready", Cluster: scaled(2, 0, func(c *plantest.Cluster) { c.Member("t-pump-0").Pod.Ready = false })},
		{Name: "the last one, and one TiDB server writes", Cluster: scaled(1, 0, func(c *plantest.Cluster) { c.Member("t-tidb-0").Pod = nil })},
		{Name: "the last one, and TiDB has one server", Cluster: func() *plantest.Cluster {
			c := plantest.NewPumps(3, 3, 1, 1)
			c.Want(topology.Pump).Replicas = 0
			return c
		}()},
		{Name: "the last one, and TiDB has no servers", Cluster: func() *plantest.Cluster {
			c := plantest.NewPumps(3, 3, 1, 0)
			c.Want(topology.Pump).Replicas = 0
			return c
		}()},
		{Name: "the last one that serves, TiDB is being restarted for that, and the other one was killed", Cluster: scaled(2, 0, func(c *plantest.Cluster) {
			c.WantBinlog(false).Roll(topology.TiDB).Down(time.Minute, "t-pump-0")
			c.Want(topology.Pump).ScaleIn = 2
		})},
		{Name: "the last one, and no TiDB server writes yet", Cluster: scaled(1, 0, func(c *plantest.Cluster) { c.Binlog(false).WantBinlog(true) })},
		{Name: "TiDB is not restarted yet, and another one stays", Cluster: scaled(2, 1, func(c *plantest.Cluster) { c.WantBinlog(false) })},
		{Name: "scale-out, and PD cannot be asked", Cluster: scaled(2, 3, func(c *plantest.Cluster) { c.PDUnknown() })},
		{Name: "it has no claim", Cluster: scaled(2, 1, func(c *plantest.Cluster) { c.Member("t-pump-1").Claims = nil })},
		{Name: "its pod is terminating", Cluster: scaled(2, 1, func(c *plantest.Cluster) { c.Member("t-pump-1").Pod.Terminating = true })},
		{Name: "nothing is known of it, and nothing of it is here", Cluster: scaled(2, 1, func(c *plantest.Cluster) {
			m := c.Member("t-pump-1")
			m.Pod, m.Claims, m.Database = nil, nil, state.Database{}
		})},
		{Name: "it is offline, and nothing of it is here", Cluster: scaled(2, 1, both(pump(state.PumpOffline), func(c *plantest.Cluster) {
			c.Member("t-pump-1").Pod, c.Member("t-pump-1").Claims = nil, nil
		}))},
		{Name: "the last one, and the other one is ready and not online", Cluster: scaled(2, 0, both(pump(state.PumpPaused), func(c *plantest.Cluster) {
			c.Want(topology.Pump).ScaleIn = 2
		}))},
		{Name: "the last one, and its data is gone", Cluster: scaled(1, 0, func(c *plantest.Cluster) {
			c.Binlog(false).Member("t-pump-0").Pod, c.Member("t-pump-0").Claims = nil, nil
		})},
		{Name: "its pod and its claim are gone", Cluster: func() *plantest.Cluster {
			c := plantest.NewPumps(3, 3, 1, 2)
			c.Add(topology.Pump).Claims = nil
			return c
		}()},
		{Name: "wanted, and offline", Cluster: scaled(2, 2, pump(state.PumpOffline))},
		{Name: "wanted, offline, and its claim is marked", Cluster: scaled(2, 2, both(pump(state.PumpOffline), mark))},
		{Name: "wanted, and closing", Cluster: scaled(2, 2, pump(state.PumpClosing))},
		{Name: "a claim of one that was offline", Cluster: func() *plantest.Cluster {
			c := plantest.NewPumps(3, 3, 1, 2)
			m := c.Add(topology.Pump)
			m.Claims[0].Marked, m.Database.Pump.State = true, state.PumpOffline
			c.Want(topology.Pump).Replicas = 2
			return c
		}()},
		{Name: "rolls before TiDB", Cluster: plantest.NewPumps(3, 3, 2, 2).Roll(topology.Pump).Roll(topology.TiDB)},
		{Name: "rolls after TiKV", Cluster: plantest.NewPumps(3, 3, 2, 2).Roll(topology.Pump).Roll(topology.TiKV).Evicting("t-tikv-2", time.Minute, 0)},
		{Name: "suspended", Cluster: scaled(2, 2, asleep)},
		{Name: "suspended, and one is offline", Cluster: scaled(2, 2, both(asleep, pump(state.PumpOffline)))},
		{Name: "suspended, and the claim of one that is online is marked", Cluster: scaled(2, 2, both(asleep, mark))},
	})
}

// unread makes it unknown which Pumps there are.
func unread(c *plantest.Cluster) {
	c.Seen.PD.PumpsKnown = false
	for i := range c.Seen.Groups[topology.Pump].Members {
		c.Seen.Groups[topology.Pump].Members[i].Database = state.Database{Problem: "PD's etcd does not say which Pumps there are: 404"}
	}
}

// TestTiDBNeedsPump: a TiDB server that writes a binlog waits for a Pump, and another one does not.
func TestTiDBNeedsPump(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*plantest.Cluster)
		step   string
		gate   string
	}{
		"one is online":  {func(c *plantest.Cluster) { c.Down(time.Minute, "t-pump-1") }, "scale TiDB from 2 to 3", ""},
		"none is online": {func(c *plantest.Cluster) { c.Down(time.Minute, "t-pump-0", "t-pump-1") }, "", "Pump not serving: no Pump is online"},
		"tidb-S7: it writes none": {func(c *plantest.Cluster) {
			c.Down(time.Minute, "t-pump-0", "t-pump-1").Binlog(false)
		}, "scale TiDB from 2 to 3", ""},
		"it is not known which are": {unread, "scale TiDB from 2 to 3", ""},
		"not known, and none is ready": {func(c *plantest.Cluster) {
			c.Down(time.Minute, "t-pump-0", "t-pump-1")
			unread(c)
		}, "", "Pump not serving: it is not known which Pumps are online, and none is Ready"},
		"not known, one has no pod, and the other one is terminating": {func(c *plantest.Cluster) {
			unread(c)
			c.Member("t-pump-0").Pod, c.Member("t-pump-1").Pod.Terminating = nil, true
		}, "", "Pump not serving: it is not known"},
		"none is online here, and one is elsewhere": {func(c *plantest.Cluster) {
			c.Down(time.Minute, "t-pump-0", "t-pump-1")
			c.Seen.PD.OtherPumps = 1
		}, "scale TiDB from 2 to 3", ""},
		"Pumps are not driven": {func(c *plantest.Cluster) {
			c.Seen.PD.PumpsKnown = false
			delete(c.Seen.Groups, topology.Pump)
			c.Wanted.Groups = append(c.Wanted.Groups[:2], c.Wanted.Groups[3:]...)
		}, "scale TiDB from 2 to 3", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := plantest.NewPumps(3, 3, 2, 2)
			c.Want(topology.TiDB).Replicas = 3
			tt.change(c)
			expect(t, c.Decide(), tt.step, tt.gate)
		})
	}
}

// TestBinlogLeft: how much a drainer has yet to read is a number, so that its rate can be shown.
func TestBinlogLeft(t *testing.T) {
	for name, tt := range map[string]struct {
		state  state.PumpState
		reader string
		want   plan.Quantity
	}{
		"a drainer reads": {state.PumpClosing, "drainer-0", plan.Quantity{Number: 90, Unit: plan.Seconds}},
		"there is none":   {state.PumpClosing, "", plan.Quantity{}},
		"it is paused":    {state.PumpPaused, "drainer-0", plan.Quantity{}},
	} {
		c := plantest.NewPumps(3, 3, 2, 2)
		c.Want(topology.Pump).Replicas = 1
		c.Pump("t-pump-1", tt.state)
		pumpNamed(c, "t-pump-1").Reader, pumpNamed(c, "t-pump-1").Behind = tt.reader, 90*time.Second
		for _, g := range c.Decide().Gates {
			if g.Reason == plan.PumpOffline && g.Left != tt.want {
				t.Errorf("%s: %+v, want %+v", name, g.Left, tt.want)
			}
		}
	}
}
