package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// failing returns a cluster whose run may give members up.
func failing(changes ...func(c *plantest.Cluster)) *plantest.Cluster {
	c := with(changes...)
	c.Policy.Failover.Members = true
	return c
}

// lost removes the pod of a store that PD has reported Down for some time.
func lost(c *plantest.Cluster, ago time.Duration, name string) {
	m := c.Down(ago, name).Member(name)
	m.Pod.Node = "n1"
	if m.Kind == tikv {
		m.Database.State, m.Database.Since = state.StoreDown, plantest.Now.Add(-ago)
		c.Seen.PD.MaxStoreDown = 30 * time.Minute
	}
}

// given adds the record of a failover to the TidbCluster.
func given(c *plantest.Cluster, name string, ago time.Duration, change ...func(*topology.Failure)) {
	m := c.Member(name)
	f := topology.Failure{Member: name, ID: m.Database.ID, Created: plantest.Now.Add(-ago)}
	for _, c := range m.Claims {
		f.Claims = append(f.Claims, c.UID)
	}
	for _, ch := range change {
		ch(&f)
	}
	g := c.Want(m.Kind)
	g.Failures = append(g.Failures, f)
}

// replacement adds a member that serves.
func replacement(c *plantest.Cluster, k topology.Kind) {
	m := c.Add(k)
	m.Pod = &state.Pod{Ready: true, Revision: "v1", Ran: true, Since: plantest.Now.Add(-time.Minute), Started: plantest.Now.Add(-time.Minute)}
	m.Database.Healthy = true
	c.Set(k, func(s *state.Set) { s.Replicas++; s.Partition++ })
	if k == tikv {
		c.Seen.PD.Stores++
		c.Seen.PD.UpStores++
	}
}

func discarded(f *topology.Failure) { f.Discarded = true }
func deleted(f *topology.Failure)   { f.Deleted = true }

func TestFailoverBegins(t *testing.T) {
	plantest.Waits(t, "failover-begins", []plantest.Case{
		{Name: "a run that is not asked to", Cluster: with(func(c *plantest.Cluster) { lost(c, time.Hour, "t-tikv-1") })},
		{Name: "pd-B12: PD member, long since", Cluster: failing(func(c *plantest.Cluster) { lost(c, time.Hour, "t-pd-1") })},
		{Name: "PD member, countdown", Cluster: failing(func(c *plantest.Cluster) { lost(c, 3*time.Minute, "t-pd-1") })},
		{Name: "PD member, now", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Minute, "t-pd-1")
			c.Policy.Failover.Now = true
		})},
		{Name: "PD has lost its quorum", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-pd-1")
			lost(c, time.Hour, "t-pd-2")
		})},
		{Name: "pd-B13: a PD member that was added and never started", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-pd-2")
			c.Member("t-pd-2").Database.Name, c.Member("t-pd-2").Database.Unstarted = "", true
		})},
		{Name: "a PD member that was removed and runs in vain", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-pd-2")
			c.Member("t-pd-2").Database = state.Database{Presence: state.Absent}
			c.Seen.PD.Members, c.Seen.PD.Healthy = 2, 2
		})},
		{Name: "a PD pod that never joined", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-pd-2")
			c.Member("t-pd-2").Database = state.Database{Presence: state.Absent}
			c.Member("t-pd-2").Pod.Ran = false
			c.Seen.PD.Members, c.Seen.PD.Healthy = 2, 2
		})},
		{Name: "store is Down, long since", Cluster: failing(func(c *plantest.Cluster) { lost(c, time.Hour, "t-tikv-1") })},
		{Name: "store is Down, countdown", Cluster: failing(func(c *plantest.Cluster) { lost(c, 31*time.Minute, "t-tikv-1") })},
		{Name: "store is Disconnected", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			c.Member("t-tikv-1").Database.State = state.StoreDisconnected
		})},
		{Name: "store is Disconnected, now", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Minute, "t-tikv-1")
			c.Member("t-tikv-1").Database.State = state.StoreDisconnected
			c.Policy.Failover.Now = true
		})},
		{Name: "store that PD calls Up yet, now", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Minute, "t-tikv-1")
			c.Member("t-tikv-1").Database.State = state.StoreUp
			c.Policy.Failover.Now = true
		})},
		{Name: "store is Down, its pod is Ready and cannot be asked", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			m := c.Member("t-tikv-1")
			m.Pod.Ready, m.Pod.Since = true, plantest.Now.Add(-24*time.Hour)
		})},
		{Name: "store is Down, its pod is Ready and its own port refuses", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			m := c.Member("t-tikv-1")
			m.Pod.Ready, m.Database.Answer = true, state.Refused
		})},
		{Name: "store is Down, and its own port answers", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			c.Member("t-tikv-1").Database.Answer = state.Answered
		})},
		{Name: "store is Down, PD's leader may be new", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			c.Seen.PD.LeaderSince = plantest.Now.Add(-29 * time.Second)
		})},
		{Name: "PD calls it Down since long, Kubernetes NotReady for a moment", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			c.Member("t-tikv-1").Pod.Since = plantest.Now.Add(-20 * time.Second)
		})},
		{Name: "resumed after hours, one after another", Cluster: failing(func(c *plantest.Cluster) {
			c.Set(tikv, func(s *state.Set) { s.Ordered, s.Made = true, plantest.Now.Add(-5*time.Second) })
			for _, name := range []string{"t-tikv-0", "t-tikv-1", "t-tikv-2", "t-tikv-3"} {
				lost(c, 8*time.Hour, name)
				c.Member(name).Pod, c.Member(name).Gone = nil, plantest.Now.Add(-5*time.Second)
			}
			c.Member("t-tikv-0").Pod = &state.Pod{UID: "new", Revision: "v1", Since: plantest.Now, Made: plantest.Now}
		})},
		{Name: "resumed after hours, and the first one never starts", Cluster: failing(func(c *plantest.Cluster) {
			c.Set(tikv, func(s *state.Set) { s.Ordered, s.Made = true, plantest.Now.Add(-time.Hour) })
			for _, name := range []string{"t-tikv-0", "t-tikv-1", "t-tikv-2", "t-tikv-3"} {
				lost(c, 8*time.Hour, name)
				c.Member(name).Pod, c.Member(name).Gone = nil, plantest.Now.Add(-time.Hour)
			}
			made := plantest.Now.Add(-time.Hour)
			c.Member("t-tikv-0").Pod = &state.Pod{UID: "new", Revision: "v1", Node: "n1", Since: made, Made: made}
		})},
		{Name: "a quota keeps its pod away for a moment", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, 8*time.Hour, "t-tikv-1")
			c.Member("t-tikv-1").Pod, c.Member("t-tikv-1").Gone = nil, plantest.Now.Add(-2*time.Second)
		})},
		{Name: "a quota keeps its pod away for long", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, 8*time.Hour, "t-tikv-1")
			c.Member("t-tikv-1").Pod, c.Member("t-tikv-1").Gone = nil, plantest.Now.Add(-35*time.Minute)
		})},
		{Name: "store is Down, its pod was only just made", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			c.Member("t-tikv-1").Pod.Made = plantest.Now.Add(-time.Minute)
		})},
		{Name: "its pod is being replaced by a rollout", Cluster: failing(func(c *plantest.Cluster) {
			c.Roll(tikv)
			c.Set(tikv, func(s *state.Set) { s.Partition = 3 })
			lost(c, time.Hour, "t-tikv-3")
			m := c.Member("t-tikv-3")
			m.Pod.Terminating, m.Pod.Since = true, plantest.Now.Add(-time.Minute)
		})},
		{Name: "pd-B25: store that PD does not speak of", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			c.Member("t-tikv-1").Database = state.Database{}
		})},
		{Name: "TiDB, long since", Cluster: failing(func(c *plantest.Cluster) { lost(c, time.Hour, "t-tidb-1") })},
		{Name: "TiDB that crashes again and again", Cluster: failing(func(c *plantest.Cluster) {
			crashed(c, "t-tidb-1", 8, 30*time.Minute, 20*time.Second, time.Minute, 0)
		})},
		{Name: "TiDB that crashes again and again, long since the last time", Cluster: failing(func(c *plantest.Cluster) {
			crashed(c, "t-tidb-1", 8, 30*time.Minute, 20*time.Second, 6*time.Minute, 0)
		})},
		{Name: "TiDB without a place", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tidb-1")
			c.Member("t-tidb-1").Pod.Node = ""
		})},
		{Name: "tidb-S20: TiDB that cannot be reached from here", Cluster: failing(func(c *plantest.Cluster) {
			c.Member("t-tidb-1").Database = state.Database{Problem: "status port does not answer"}
		})},
		{Name: "tikv-11-43: pods of the revision that is being rolled out", Cluster: failing(func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 3)
			lost(c, time.Hour, "t-tikv-3")
		})},
		{Name: "pods of the revision that a person rolls out", Cluster: failing(func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 3)
			c.Set(tikv, func(s *state.Set) { s.Manual, s.Partition = true, 0 })
			lost(c, time.Hour, "t-tikv-3")
		})},
		{Name: "no member serves with the revision, which is not being rolled out", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tidb-0")
			lost(c, time.Hour, "t-tidb-1")
			lost(c, time.Hour, "t-tidb-2")
		})},
		{Name: "maxFailoverCount is 0", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			c.Want(tikv).MaxFailures = 0
			c.Policy.Failover.Now = true
		})},
		{Name: "the cap is reached", Cluster: failing(func(c *plantest.Cluster) {
			c.Want(tikv).MaxFailures = 1
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour)
			replacement(c, tikv)
			lost(c, time.Hour, "t-tikv-2")
			c.Policy.Failover.Now = true
		})},
		{Name: "only other components", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			c.Policy.Failover.Only = []topology.Kind{pd, tidb}
		})},
		{Name: "a member that is not wanted", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-3")
			c.Want(tikv).Replicas = 3
		})},
	})
}

func TestFailoverGoesOn(t *testing.T) {
	plantest.Waits(t, "failover-goes-on", []plantest.Case{
		{Name: "PD removes the member, also in a run that may not give up any", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-pd-1")
			given(c, "t-pd-1", time.Second)
		})},
		{Name: "pd-B10: its pod is gone", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-pd-1")
			given(c, "t-pd-1", time.Second)
			c.Member("t-pd-1").Pod = nil
		})},
		{Name: "PD has removed it", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-pd-1")
			given(c, "t-pd-1", time.Second)
			c.Member("t-pd-1").Database = state.Database{Presence: state.Absent}
			c.Seen.PD.Members = 2
		})},
		{Name: "PD has removed it, and its claim is a new one", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-pd-1")
			given(c, "t-pd-1", time.Second)
			m := c.Member("t-pd-1")
			m.Database, m.Claims[0].UID = state.Database{Presence: state.Absent}, "new"
			c.Seen.PD.Members = 2
		})},
		{Name: "it waits out its last crash, whose reason is gone", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour, discarded)
			replacement(c, tikv)
			m := c.Member("t-tikv-1")
			m.Database, m.Claims[0].UID = state.Database{Presence: state.Absent}, "new"
			m.Pod.Restarts, m.Pod.Made = 4, plantest.Now.Add(-10*time.Minute)
		})},
		{Name: "discarded, and not back yet", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour, discarded, deleted)
			replacement(c, tikv)
			m := c.Member("t-tikv-1")
			m.Database, m.Claims[0].UID = state.Database{Presence: state.Absent}, "new"
		})},
		{Name: "PD member is away, replaced after a while", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-pd-1")
			given(c, "t-pd-1", 3*time.Minute)
			m := c.Member("t-pd-1")
			m.Database, m.Claims = state.Database{Presence: state.Absent}, nil
			c.Seen.PD.Members = 2
		})},
		{Name: "PD member is replaced", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-pd-1")
			given(c, "t-pd-1", 3*time.Minute, deleted)
			m := c.Member("t-pd-1")
			m.Database, m.Claims = state.Database{Presence: state.Absent}, nil
			c.Seen.PD.Members = 2
		})},
		{Name: "the new PD member with the old name is not the one that was given up", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-pd-1")
			given(c, "t-pd-1", time.Second)
			c.Member("t-pd-1").Database.ID = 4711
		})},
		{Name: "PD member runs for a moment between two crashes", Cluster: crashed(with(func(c *plantest.Cluster) {
			given(c, "t-pd-1", time.Minute)
		}), "t-pd-1", 6, 5*time.Minute, 5*time.Second, 160*time.Second, 5*time.Second)},
		{Name: "PD member is to be recreated, and its replacement has to wait for it", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-pd-2")
			given(c, "t-pd-2", time.Hour, deleted)
			m := c.Member("t-pd-2")
			m.Database, m.Claims[0].Marked = state.Database{Presence: state.Absent}, true
			c.Seen.PD.Members = 2
			c.Add(pd).Database = state.Database{Presence: state.Absent}
			c.Set(pd, func(s *state.Set) { s.Replicas, s.Partition, s.Ordered = 4, 4, true })
		})},
		{Name: "PD member is back", Cluster: with(func(c *plantest.Cluster) { given(c, "t-pd-1", time.Minute) })},
		{Name: "PD has no quorum without it", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-pd-1")
			lost(c, time.Hour, "t-pd-2")
			given(c, "t-pd-1", time.Second)
		})},
		{Name: "store is replaced", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Second)
		})},
		{Name: "store was replaced", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour)
			replacement(c, tikv)
		})},
		{Name: "store was replaced, a rollout waits for it", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour)
			replacement(c, tikv)
			c.Want(tikv).Set.Drift = desired.Differs
		})},
		{Name: "store was replaced, another crashes again and again", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour)
			replacement(c, tikv)
			crashed(c, "t-tikv-2", 6, 5*time.Minute, 5*time.Second, time.Minute, 5*time.Second)
		})},
		{Name: "store was replaced, a replacement is discarded", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour)
			replacement(c, tikv)
			replacement(c, tikv)
			lost(c, time.Hour, "t-tikv-2")
			given(c, "t-tikv-2", time.Hour, discarded)
			c.Member("t-tikv-2").Database.State = state.StoreTombstone
		})},
		{Name: "store was replaced, the rollout is closed", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour)
			replacement(c, tikv)
			c.Set(tikv, func(s *state.Set) { s.Partition = 0 })
		})},
		{Name: "store was replaced, Kubernetes has not noticed the end of the rollout", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour)
			replacement(c, tikv)
			c.Set(tikv, func(s *state.Set) { s.Partition, s.CurrentRevision = 0, "v0" })
		})},
		{Name: "store is back, the recovery is not asked for", Cluster: with(func(c *plantest.Cluster) {
			given(c, "t-tikv-1", time.Hour)
			replacement(c, tikv)
		})},
		{Name: "recovery", Cluster: with(func(c *plantest.Cluster) {
			given(c, "t-tikv-1", time.Hour)
			replacement(c, tikv)
			c.Want(tikv).Recover = true
		})},
		{Name: "recovery, the store is not back", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour)
			replacement(c, tikv)
			c.Want(tikv).Recover = true
		})},
		{Name: "after the recovery the replacement goes", Cluster: with(func(c *plantest.Cluster) { replacement(c, tikv) })},
		{Name: "store is not wanted any more", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-3")
			given(c, "t-tikv-3", time.Hour)
			c.Want(tikv).Replicas = 3
		})},
		{Name: "store is discarded: asked for", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour)
			replacement(c, tikv)
			c.Policy.Failover.Discard = []string{"t-tikv-1"}
		})},
		{Name: "store is discarded: offline", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour, discarded)
			replacement(c, tikv)
		})},
		{Name: "store is discarded: its regions go", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour, discarded)
			replacement(c, tikv)
			c.Member("t-tikv-1").Database.State = state.StoreOffline
		})},
		{Name: "store is discarded, a tombstone, and not back yet", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour, discarded)
			replacement(c, tikv)
			c.Member("t-tikv-1").Database.State = state.StoreTombstone
		})},
		{Name: "tikv-11-21: store that PD does not speak of just now", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour, discarded)
			replacement(c, tikv)
			c.Member("t-tikv-1").Database = state.Database{}
		})},
		{Name: "discarded store has come back", Cluster: with(func(c *plantest.Cluster) {
			given(c, "t-tikv-1", time.Hour, discarded)
			replacement(c, tikv)
		})},
		{Name: "too few stores to discard one", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			lost(c, time.Hour, "t-tikv-2")
			given(c, "t-tikv-1", time.Hour, discarded)
		})},
		{Name: "TiDB is replaced", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tidb-1")
			given(c, "t-tidb-1", time.Second)
		})},
		{Name: "TiDB is back", Cluster: with(func(c *plantest.Cluster) {
			given(c, "t-tidb-1", time.Hour)
			replacement(c, tidb)
		})},
	})
}

// TestServerGivenUp: a server without data is given up when Kubernetes has reported it NotReady for long. Besides, its
// own port must not have answered for some time. Kubernetes may have an old report, and one request may have failed.
func TestServerGivenUp(t *testing.T) {
	for name, want := range map[string]struct {
		answer state.Answer
		silent time.Duration
		given  bool
	}{
		"no answer just now":    {state.NoAnswer, 0, false},
		"no answer for minutes": {state.NoAnswer, 2 * time.Minute, true},
		"nothing listens":       {state.Refused, 0, true},
		"it answers":            {state.Answered, 0, false},
	} {
		c := failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tidb-1")
			m := c.Member("t-tidb-1")
			if m.Database = (state.Database{Answer: want.answer}); want.answer == state.NoAnswer {
				m.Silent = plantest.Now.Add(-want.silent)
			}
		})
		if got := c.Text(); strings.Contains(got, "give up t-tidb-1") != want.given {
			t.Errorf("%s: given up %t, want %t\n%s", name, !want.given, want.given, got)
		}
	}
}

// TestNoFailoverWhilePodsLack: a replacement would have the pods of the others, and could not start either. So no
// member is recorded as lost while pods of its component lack something.
func TestNoFailoverWhilePodsLack(t *testing.T) {
	for _, lacks := range []bool{false, true} {
		c := failing(func(c *plantest.Cluster) { lost(c, 6*time.Hour, "t-tikv-1") })
		if lacks {
			c.Want(tikv).Lacks = []desired.Lack{{Need: desired.ValidCertificate, Object: "t-tikv", Want: "the certificate in Secret t-tikv valid", Observed: "expired", Remedy: remedy.Remedy{remedy.Say("make it again")}}}
		}
		if got := c.Text(); strings.Contains(got, "give up t-tikv-1") == lacks {
			t.Errorf("lacks something: %t\n%s", lacks, got)
		}
	}
}
