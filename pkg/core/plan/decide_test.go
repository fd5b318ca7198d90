package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

const (
	pd    = topology.PD
	tikv  = topology.TiKV
	ticdc = topology.TiCDC
	tidb  = topology.TiDB
)

// with changes a cluster that has converged: three of each component.
func with(changes ...func(c *plantest.Cluster)) *plantest.Cluster {
	c := plantest.New(3, 4, 3)
	for _, change := range changes {
		change(c)
	}
	return c
}

// pausedBy returns a cluster with something to do that is paused, for some time from now.
func pausedBy(who string, left time.Duration, recorded bool) *plantest.Cluster {
	return with(func(c *plantest.Cluster) {
		c.Wanted.Cluster.Paused = true
		c.Wanted.Cluster.Pause = topology.Pause{By: who, Until: plantest.Now.Add(left), Recorded: recorded}
		c.Want(tikv).Replicas = 9
	})
}

// TestPauseEnds: the next decision is due when a pause ends by itself. No decision is due for a
// pause that only a person ends.
func TestPauseEnds(t *testing.T) {
	p := pausedBy("ann@laptop", time.Minute, true).Decide()
	if !p.Deadline().Equal(plantest.Now.Add(time.Minute)) || p.Pause.By != "ann@laptop" {
		t.Errorf("due at %v, %+v", p.Deadline(), p.Pause)
	}
	endless := with(func(c *plantest.Cluster) { c.Wanted.Cluster.Paused = true })
	if p := endless.Decide(); !p.Deadline().IsZero() {
		t.Errorf("due at %v", p.Deadline())
	}
}

func TestWhole(t *testing.T) {
	made := remedy.Remedy{remedy.Say("make it")}
	plantest.Table(t, "whole", []plantest.Case{
		{Name: "converged", Cluster: with()},
		{Name: "paused", Cluster: with(func(c *plantest.Cluster) { c.Wanted.Cluster.Paused = true; c.Want(tikv).Replicas = 9 })},
		{Name: "paused by a person, until later", Cluster: pausedBy("ann@laptop", time.Minute, true)},
		{Name: "paused by a person, whose time is over", Cluster: pausedBy("ann@laptop", 0, true)},
		{Name: "paused by a tool, beside a record whose time is over", Cluster: pausedBy("argocd-controller", -time.Hour, false)},
		{Name: "deleting", Cluster: with(func(c *plantest.Cluster) { c.Wanted.Cluster.Deleting = true; c.Want(tikv).Replicas = 9 })},
		{Name: "pods of an AdvancedStatefulSet", Cluster: with(func(c *plantest.Cluster) {
			const advanced = "StatefulSet %s of apps.pingcap.com/v1"
			for _, k := range []topology.Kind{topology.PD, topology.TiKV, topology.TiDB} {
				c.Set(k, func(s *state.Set) { *s = state.Set{} })
				c.Want(k).Set.Drift = desired.Missing
				for i := range c.Seen.Groups[k].Members {
					c.Seen.Groups[k].Members[i].Pod.Controller = fmt.Sprintf(advanced, "t-"+string(k))
				}
			}
		})},
		{Name: "a ConfigMap that pods mount is gone, and a rollout is under way", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv)
			c.Want(tikv).Lacks = []desired.Lack{{Want: "ConfigMap t-tikv, which its pods mount", Remedy: remedy.Remedy{remedy.Say("kubectl create configmap t-tikv")}}}
		})},
		{Name: "a ConfigMap that PD's pods mount is gone, and the leader is to restart", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(pd)
			for i := range c.Seen.Groups[pd].Members {
				c.Seen.Groups[pd].Members[i].Database.Leader = i == 2
			}
			c.Seen.PD.Leader = "t-pd-2"
			c.Want(pd).Lacks = []desired.Lack{{Want: "ConfigMap t-pd, which its pods mount", Remedy: remedy.Remedy{remedy.Say("kubectl create configmap t-pd")}}}
		})},
		{Name: "a ConfigMap that pods mount differs, while PD is rolled", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(pd)
			c.Want(tikv).Config[0].Drift, c.Want(tikv).Config[0].Mounted = desired.Differs, true
		})},
		{Name: "a ConfigMap that pods mount is gone, and is known, while PD is rolled", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(pd)
			c.Want(tikv).Config[0].Drift, c.Want(tikv).Config[0].Mounted = desired.Missing, true
		})},
		{Name: "a ConfigMap that no pod mounts yet is missing, while PD is rolled", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(pd)
			c.Want(tikv).Config[0].Drift = desired.Missing
		})},
		{Name: "it is not known what pods would get, and a service differs in a rollout", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv).Want(tikv).Services[0].Drift = desired.Differs
			c.Want(tikv).Lacks = []desired.Lack{{
				Need: desired.KnownSpec, Want: "spec of TiKV known", Observed: "t-tikv has been edited",
				Remedy: remedy.Remedy{remedy.Say("edit the TidbCluster")},
			}}
		})},
		{Name: "pods lack two ConfigMaps, the StatefulSet differs, and there are no pods", Cluster: with(func(c *plantest.Cluster) {
			for i := range c.Seen.Groups[tidb].Members {
				c.Seen.Groups[tidb].Members[i].Pod = nil
			}
			c.Want(tidb).Set.Drift = desired.Differs
			for _, name := range []string{"a", "b"} {
				c.Want(tidb).Lacks = append(c.Want(tidb).Lacks, desired.Lack{
					Want: "ConfigMap " + name + ", which its pods mount", Observed: "ConfigMap " + name + " is missing", Object: name,
					Remedy: remedy.Remedy{remedy.Say("kubectl create configmap " + name)},
				})
			}
		})},
		{Name: "PD and TiKV wait, and TiDB is to be rolled: it waits for the first of them", Cluster: with(func(c *plantest.Cluster) {
			c.Down(time.Minute, "t-pd-1", "t-tikv-0").Roll(tidb)
		})},
		{Name: "the template of PD differs, and a server with an old revision is down", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tidb).Down(time.Hour, "t-tidb-2")
			c.Want(pd).Set.Drift = desired.Differs
		})},
		{Name: "object of the cluster differs", Cluster: with(func(c *plantest.Cluster) {
			c.Wanted.Objects = []desired.Object{{Kind: "ConfigMap", Name: "t-discovery", Drift: desired.Differs}}
		})},
		{Name: "nothing exists, and certificates are missing", Cluster: with(func(c *plantest.Cluster) {
			c.Seen.Groups = map[topology.Kind]state.Group{}
			c.Seen.PD = state.PD{Problem: "there is no valid certificate to ask it with"}
			for _, k := range []topology.Kind{topology.PD, topology.TiKV, topology.TiDB} {
				g := c.Want(k)
				g.Services[0].Drift, g.Config[0].Drift, g.Set.Drift = desired.Missing, desired.Missing, desired.Missing
				g.Lacks = []desired.Lack{
					{Need: desired.ValidCertificate, Object: "t-client", Whole: true, Want: "the certificate in Secret t-client valid", Observed: "Secret t-client does not exist", Remedy: made},
					{Need: desired.ValidCertificate, Object: "t-" + string(k), Want: "the certificate in Secret t-" + string(k) + " valid", Observed: "Secret t-" + string(k) + " does not exist", Remedy: made},
				}
			}
		})},
		{Name: "certificates have expired, a store is down, and its StatefulSet is gone", Cluster: with(func(c *plantest.Cluster) {
			c.Down(time.Minute, "t-tikv-1")
			c.Set(tikv, func(s *state.Set) { *s = state.Set{} })
			c.Want(tikv).Set.Drift = desired.Missing
			c.Want(tikv).Lacks = []desired.Lack{{Need: desired.ValidCertificate, Object: "t-tikv", Want: "the certificate in Secret t-tikv valid", Observed: "expired", Remedy: made}}
		})},
		{Name: "nothing exists", Cluster: with(func(c *plantest.Cluster) {
			c.Seen.Groups = map[topology.Kind]state.Group{}
			c.Seen.PD = state.PD{Problem: "no PD pod is running"}
			for _, k := range []topology.Kind{topology.PD, topology.TiKV, topology.TiDB} {
				g := c.Want(k)
				g.Services[0].Drift, g.Config[0].Drift, g.Set.Drift = desired.Missing, desired.Missing, desired.Missing
			}
		})},
		{Name: "TiKV is missing, PD serves", Cluster: with(func(c *plantest.Cluster) {
			delete(c.Seen.Groups, tikv)
			c.Seen.PD.Stores, c.Seen.PD.UpStores, c.Seen.PD.Bootstrapped = 0, 0, false
			c.Want(tikv).Set.Drift = desired.Missing
		})},
		{Name: "StatefulSet deleted around its pods", Cluster: with(func(c *plantest.Cluster) {
			c.Set(tikv, func(s *state.Set) { *s = state.Set{} })
			c.Want(tikv).Set.Drift = desired.Missing
		})},
		{Name: "StatefulSet deleted around more pods than are wanted", Cluster: with(func(c *plantest.Cluster) {
			c.Set(tikv, func(s *state.Set) { *s = state.Set{} })
			c.Want(tikv).Set.Drift = desired.Missing
			c.Want(tikv).Replicas = 3
		})},
		{Name: "controller has not seen the spec", Cluster: with(func(c *plantest.Cluster) {
			c.Set(pd, func(s *state.Set) { s.Observed = false })
			c.Roll(tikv)
		})},
		{Name: "one disruptive step, the earlier component's", Cluster: with(func(c *plantest.Cluster) {
			c.Want(pd).Replicas, c.Want(tidb).Replicas = 2, 2
		})},
		{Name: "steps that are not disruptive come first", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tikv).Replicas, c.Want(tidb).Replicas = 5, 2
		})},
		{Name: "pd-A1: a waiting component does not hold back the scaling of another", Cluster: with(func(c *plantest.Cluster) {
			c.Down(time.Minute, "t-tikv-0")
			c.Want(tidb).Replicas = 4
		})},
		{Name: "a waiting component holds back the rollout of a later one", Cluster: with(func(c *plantest.Cluster) {
			c.Down(time.Minute, "t-tikv-0").Roll(tidb)
		})},
		{Name: "tikv-11-25: what a later component restarts for is not applied before its turn", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(pd)
			c.Want(tikv).Set.Drift, c.Want(tikv).Config[0].Drift = desired.Differs, desired.Differs
		})},
		{Name: "blocked only if every component is", Cluster: with(func(c *plantest.Cluster) {
			c.Down(time.Hour, "t-tikv-0").Down(time.Minute, "t-tidb-0")
		})},
		{Name: "blocked, and a later rollout held back by it", Cluster: with(func(c *plantest.Cluster) {
			c.Down(time.Hour, "t-tikv-0").Roll(tidb)
		})},
		{Name: "scheduler of a store that no member has", Cluster: with(func(c *plantest.Cluster) {
			c.Seen.Evictions = []state.Eviction{{StoreID: 99, Member: "t-tikv-9"}}
		})},
		{Name: "record of a store while PD does not answer", Cluster: with(func(c *plantest.Cluster) {
			c.Recorded("t-tikv-1", time.Minute)
			c.Member("t-tikv-1").Database = state.Database{}
		})},
	})
}

// TestPausedFindings: what others have changed is reported while the cluster is paused as well.
func TestPausedFindings(t *testing.T) {
	c := with(func(c *plantest.Cluster) {
		c.Wanted.Cluster.Paused = true
		c.Want(tikv).Notices = []desired.Notice{{Component: tikv, Text: "it is kept"}}
	})
	if p := c.Decide(); p.Outcome != plan.Paused || len(p.Notices) != 1 || p.Notices[0].Text != "it is kept" {
		t.Errorf("%s, %+v", p.Outcome, p.Notices)
	}
}

func TestScaling(t *testing.T) {
	claim := func(m *state.Member, marked bool) { m.Claims[0].Marked = marked }
	plantest.Table(t, "scaling", []plantest.Case{
		{Name: "out", Cluster: with(func(c *plantest.Cluster) { c.Want(tikv).Replicas = 6 })},
		{Name: "out, the last one has yet to join", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 6
			c.Member("t-tikv-3").Database = state.Database{Presence: state.Absent}
		})},
		{Name: "out, the last one has joined and is lost", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 6
			c.Down(time.Minute, "t-tikv-3")
		})},
		{Name: "out, the last one is lost during a rollout", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 6
			c.Roll(tikv).Rolled(tikv, 3).Down(time.Minute, "t-tikv-3")
		})},
		{Name: "out, a voter is down", Cluster: with(func(c *plantest.Cluster) {
			c.Want(pd).Replicas = 4
			c.Down(time.Minute, "t-pd-0")
		})},
		{Name: "out, the former pod is still there", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 5
			m := c.Add(tikv)
			m.Pod = &state.Pod{Terminating: true, Ready: true, Since: plantest.Now}
			m.Database = state.Database{Presence: state.Present, State: state.StoreTombstone}
		})},
		{Name: "out, the pod of one that PD counts on is still there", Cluster: with(func(c *plantest.Cluster) {
			c.Set(tikv, func(s *state.Set) { s.Replicas, s.Partition, s.Ordered = 3, 3, true })
			c.Down(time.Hour, "t-tikv-1")
		})},
		{Name: "out, the pod of one that keeps nothing is still there", Cluster: with(func(c *plantest.Cluster) {
			c.Set(tidb, func(s *state.Set) { s.Replicas, s.Partition, s.Ordered = 2, 2, true })
			c.Down(time.Hour, "t-tidb-0")
		})},
		{Name: "out, over a marked claim", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 5
			m := c.Add(tikv)
			m.Database = state.Database{Presence: state.Absent}
			claim(m, true)
		})},
		{Name: "out, over a claim that is going", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 5
			m := c.Add(tikv)
			m.Database = state.Database{Presence: state.Absent}
			m.Claims[0].Terminating = true
		})},
		{Name: "out, over a claim that is unknown", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 5
			c.Add(tikv).Database = state.Database{Presence: state.Absent}
		})},
		{Name: "out, over the claim of a tombstone that was not marked", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 5
			m := c.Add(tikv)
			m.Database.State = state.StoreTombstone
		})},
		{Name: "out, over a claim while PD does not speak of stores", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 5
			m := c.Add(tikv)
			m.Database = state.Database{}
			claim(m, true)
		})},
		{Name: "out, the member never left", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 5
			c.Add(tikv).Database.State = state.StoreDown
		})},
		{Name: "out, a voter that PD lacks for its quorum", Cluster: with(func(c *plantest.Cluster) {
			c.PDUnknown()
			g := c.Seen.Groups[pd]
			for i := 1; i < 3; i++ {
				g.Members[i].Pod = nil
			}
			c.Set(pd, func(s *state.Set) { s.Replicas = 1 })
		})},
		{Name: "out, a removed voter while PD is unknown", Cluster: with(func(c *plantest.Cluster) {
			c.PDUnknown()
			m := c.Member("t-pd-2")
			m.Pod = nil
			claim(m, true)
			c.Set(pd, func(s *state.Set) { s.Replicas = 2 })
		})},
		{Name: "in", Cluster: with(func(c *plantest.Cluster) { c.Want(tidb).Replicas = 1 })},
		{Name: "in, a peer that stays is down", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tidb).Replicas = 2
			c.Down(time.Minute, "t-tidb-0")
		})},
		{Name: "in, the member itself is down", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tidb).Replicas = 2
			c.Down(time.Minute, "t-tidb-2")
		})},
		{Name: "in, another that is to go is down", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tidb).Replicas = 1
			c.Down(time.Minute, "t-tidb-1")
		})},
		{Name: "in, the pod removed before is still there", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tidb).Replicas = 1
			c.Add(tidb).Pod = &state.Pod{Terminating: true, Since: plantest.Now}
		})},
		{Name: "in, a store without a pod and without a claim is left over", Cluster: with(func(c *plantest.Cluster) { c.Add(tikv).Claims = nil })},
		{Name: "in, a tombstone without a pod is left over", Cluster: with(func(c *plantest.Cluster) {
			m := c.Add(tikv)
			m.Database.State = state.StoreTombstone
			claim(m, true)
		})},
		{Name: "a wanted member that the database has removed", Cluster: with(func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Database.State = state.StoreTombstone
			c.Down(time.Minute, "t-tikv-2")
			c.Member("t-tikv-3").Database.Healthy = false
		})},
		{Name: "more is wanted than a member that is done for leaves", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 6
			c.Member("t-tikv-3").Database = state.Database{Presence: state.Present, State: state.StoreTombstone, ID: 4}
		})},
		{Name: "called off, claims are marked", Cluster: with(func(c *plantest.Cluster) { claim(c.Member("t-pd-2"), true) })},
		{Name: "called off, claims are marked and the member is down", Cluster: with(func(c *plantest.Cluster) {
			claim(c.Member("t-pd-2"), true)
			c.Down(time.Minute, "t-pd-2")
		})},
	})
}

func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		kind     topology.Kind
		replicas int
		want     string
	}{
		"enough":                     {tikv, 3, ""},
		"out":                        {tikv, 9, ""},
		"too few stores":             {tikv, 2, "TiKV: needs 3 or more replicas, 2 requested: PD keeps max-replicas=3 copies of each region"},
		"no PD":                      {pd, 0, "PD: needs 1 or more replicas, 0 requested: the last member holds the cluster's metadata"},
		"no TiDB":                    {tidb, 0, ""},
		"as few as there are":        {tikv, -2, ""},
		"pods of another controller": {tidb, -4, "t-tidb-0: controller of the pod not supported: ReplicaSet x of apps/v1"},
		"fewer than pods that were left without a set": {tikv, -3, "TiKV: needs 3 or more replicas, 2 requested: PD keeps max-replicas=3 copies of each region"},
	} {
		t.Run(name, func(t *testing.T) {
			c := with(func(c *plantest.Cluster) { c.Want(tc.kind).Replicas = tc.replicas })
			switch tc.replicas {
			case -2:
				c = plantest.New(3, 2, 3)
			case -4:
				c.Want(tidb).Replicas = 3
				c.Member("t-tidb-0").Pod.Controller = "ReplicaSet x of apps/v1"
			case -3:
				orphaned(c, tikv)
				c.Want(tikv).Replicas = 2
			}
			got := ""
			for _, g := range plan.Refusals(component.Profiles(), c.Wanted, c.Seen) {
				if !g.Blocked || g.Remedy == nil {
					t.Errorf("a refusal must say what a person can do: %+v", g)
				}
				if want := "ask for 3 or more"; tc.kind == tikv && (g.Want != "at least 3 replicas" || !strings.HasPrefix(g.Remedy.Line(""), want)) {
					t.Errorf("wants %q, remedy %q, which has to begin with %q", g.Want, g.Remedy.Line(""), want)
				}
				got += g.String()
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
