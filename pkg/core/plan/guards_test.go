package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// These tests are rare cases, in which one half of a condition alone prevents a wrong decision.

// between returns a cluster with a store that fails with the new revision, and a second store that
// is down. The second has a revision that Kubernetes gives to no pod any more.
func between(ago time.Duration, changes ...func(p *state.Pod)) *plantest.Cluster {
	return with(func(c *plantest.Cluster) {
		c.Roll(tikv).Rolled(tikv, 0).Down(ago, "t-tikv-0", "t-tikv-3")
		p := c.Member("t-tikv-3").Pod
		p.Revision, p.Made = "v2-before", plantest.Now.Add(-ago)
		for _, change := range changes {
			change(p)
		}
	})
}

// refusesAbove returns a cluster with a store that fails with the new revision. Another store above
// runs with the old revision and refuses connections.
func refusesAbove(ago time.Duration) *plantest.Cluster {
	return with(func(c *plantest.Cluster) {
		c.Roll(tikv).Rolled(tikv, 0).Down(time.Hour, "t-tikv-0")
		silent(c, "t-tikv-3", ago).Database.Answer = state.Refused
	})
}

// queuedBehindPD returns a cluster whose PD has a rollout to finish, with a store that is to leave.
// Another store below does not serve with the old revision.
func queuedBehindPD() *plantest.Cluster {
	return rollTiKV(func(c *plantest.Cluster) {
		c.Roll(pd).Rolled(tikv, 3).Want(tikv).Replicas = 3
		m := silent(c, "t-tikv-2", time.Hour)
		m.Database.Answer, m.Refusing = state.Refused, plantest.Now.Add(-time.Minute)
	})
}

// looping makes a container crash again and again since its pod was created.
func looping(p *state.Pod) {
	p.Restarts = 6
	p.Last = state.Run{Started: plantest.Now.Add(-time.Minute), Ended: plantest.Now.Add(-50 * time.Second)}
}

func manually(c *plantest.Cluster) *plantest.Cluster {
	return c.Set(tikv, func(s *state.Set) { s.Manual = true })
}

func TestGuardsOfRollout(t *testing.T) {
	voteless := func(change func(c *plantest.Cluster)) *plantest.Cluster {
		c := leaderless(time.Hour)
		change(c)
		return c
	}
	plantest.Waits(t, "guards-rollout", []plantest.Case{
		{Name: "the last store was forgotten, and will be asked for again", Cluster: with(forgotten("t-tikv-3"), func(c *plantest.Cluster) { c.Roll(tikv) })},
		{Name: "a server fails with the new revision, the next one is unknown", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tidb).Rolled(tidb, 2).Down(time.Hour, "t-tidb-2", "t-tidb-1")
			c.Member("t-tidb-1").Database = state.Database{}
		})},
		{Name: "a tombstone cannot run with the new revision", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 3).Down(time.Minute, "t-tikv-3", "t-tikv-2")
			m := c.Member("t-tikv-3")
			m.Database.State, m.Claims[0].Marked, m.Pod.Ran = state.StoreTombstone, true, false
		})},
		{Name: "a store fails with the new revision, the next one has no image of one in between", Cluster: between(10*time.Minute, func(p *state.Pod) { p.Ran = false })},
		{Name: "the same, not for long", Cluster: between(10*time.Minute-time.Second, func(p *state.Pod) { p.Ran = false })},
		{Name: "the same, where the user replaces pods", Cluster: manually(between(10*time.Minute, func(p *state.Pod) { p.Ran = false }))},
		{Name: "the same, but it has run", Cluster: between(10*time.Minute, func(*state.Pod) {})},
		{Name: "the same, and crashes again and again", Cluster: between(10*time.Minute, looping)},
		{Name: "the same, and runs just now", Cluster: between(10*time.Minute, looping, func(p *state.Pod) { p.Started = plantest.Now.Add(-5 * time.Second) })},
		{Name: "the same, of the revision that Kubernetes would give it again", Cluster: between(10*time.Minute, looping, func(p *state.Pod) { p.Revision = "v1" })},
		{Name: "the same, and another store serves with the new revision", Cluster: func() *plantest.Cluster {
			c := between(10*time.Minute, func(p *state.Pod) { p.Revision = "v1" })
			c.Rolled(tikv, 1).Member("t-tikv-1").Pod.Started = plantest.Now.Add(-time.Hour)
			return c
		}()},
		{Name: "the same, and the store below fails as well", Cluster: func() *plantest.Cluster {
			c := between(10*time.Minute, func(p *state.Pod) { p.Revision = "v1" })
			return c.Down(10*time.Minute, "t-tikv-2")
		}()},
		{Name: "a store fails with the new revision, and the next one runs and refuses for long", Cluster: refusesAbove(10 * time.Minute)},
		{Name: "the same, not for long yet", Cluster: refusesAbove(10*time.Minute - time.Second)},
		{Name: "the same, and it has refused for a moment", Cluster: func() *plantest.Cluster {
			c := refusesAbove(10 * time.Minute)
			c.Member("t-tikv-3").Refusing = plantest.Now.Add(-119 * time.Second)
			return c
		}()},
		{Name: "the same, and PD's leader is new", Cluster: led(refusesAbove(10*time.Minute), 10*time.Second)},
		{Name: "one fails with the new revision, and another one below is not ready", Cluster: with(func(c *plantest.Cluster) {
			c.Set(tikv, func(s *state.Set) { s.Ordered = true }).Roll(tikv).Rolled(tikv, 3).Down(time.Minute, "t-tikv-3", "t-tikv-2", "t-tikv-0")
		})},
		{Name: "no leader, the first member is missing and the second has just started", Cluster: voteless(func(c *plantest.Cluster) {
			c.Member("t-pd-0").Pod = nil
			p := c.Member("t-pd-1").Pod
			p.Started, p.Since = plantest.Now.Add(-10*time.Second), plantest.Now.Add(-10*time.Second)
		})},
		{Name: "no leader, a member has just been started again", Cluster: voteless(func(c *plantest.Cluster) {
			c.Member("t-pd-1").Pod.Started = plantest.Now.Add(-10 * time.Second)
		})},
		{Name: "no leader, a member crashes again and again", Cluster: voteless(func(c *plantest.Cluster) {
			crashed(c, "t-pd-1", 6, time.Hour, 5*time.Second, 160*time.Second, 5*time.Second)
		})},
		{Name: "no leader, TiKV is to be rolled", Cluster: voteless(func(c *plantest.Cluster) {
			c.Roll(tikv).Set(pd, func(s *state.Set) { s.UpdateRevision = "v1" })
		})},
		{Name: "called off while a store is replaced", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour)
			replacement(c, tikv)
			c.Member("t-tikv-3").Pod.Revision = "v2"
		})},
		{Name: "by another clock the last pod will be ready in a moment", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tidb).Rolled(tidb, 2)
			c.Member("t-tidb-2").Pod.Since = plantest.Now.Add(2 * time.Second)
		})},
		{Name: "one below is down with the old revision, and so is the next", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 3).Down(time.Minute, "t-tikv-3", "t-tikv-2", "t-tikv-1")
		})},
		{Name: "one is not ready and serves, the next one serves, and more are wanted", Cluster: rollTiKV(func(c *plantest.Cluster) {
			unready(c.Member("t-tikv-0"), time.Hour).Database.Answer = state.Answered
			c.Want(tikv).Replicas = 5
		})},
		{Name: "PD does not hear from the next one, and does not serve", Cluster: rollTiKV(func(c *plantest.Cluster) {
			silent(c, "t-tikv-3", time.Hour)
			c.Seen.PD.Leader = ""
		})},
		{Name: "the next one is not ready, and PD says nothing of it", Cluster: rollTiKV(func(c *plantest.Cluster) {
			unready(c.Member("t-tikv-3"), time.Minute).Database = state.Database{}
		})},
		{Name: "PD is rolled, a store is to go, and the next one has refused for a moment", Cluster: queuedBehindPD()},
		{Name: "a claim is not free, and the next one, which others are removing, has refused for a moment", Cluster: rollTiKV(func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 5
			c.Add(tikv).Database = state.Database{Presence: state.Absent}
			m := c.Offline("t-tikv-3").Member("t-tikv-3")
			m.Database.Since, m.NotServing = plantest.Now.Add(-time.Hour), plantest.Now.Add(-time.Hour)
			m.Database.Answer, m.Refusing = state.Refused, plantest.Now.Add(-time.Minute)
		})},
		{Name: "one is down with the new revision, and one with the old", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 0).Down(time.Minute, "t-tikv-0", "t-tikv-1")
			c.Set(tikv, func(s *state.Set) { s.Partition = 4 })
		})},
	})
}

func TestGuardsOfByHand(t *testing.T) {
	manual := func(s *state.Set) { s.Manual = true }
	plantest.Waits(t, "guards-by-hand", []plantest.Case{
		{Name: "it is stuck, and may be given up", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Minute, "t-tikv-1")
			c.Roll(tikv).Set(tikv, manual)
			c.Set(tikv, func(s *state.Set) { s.CurrentRevision = "v2" })
		})},
		{Name: "a voter is stuck, and its StatefulSet has not been seen to", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(pd).Set(pd, manual).Down(time.Minute, "t-pd-1").Set(pd, func(s *state.Set) { s.Observed = false })
		})},
		{Name: "one is stuck that is to stay, while PD has pods to replace", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(pd).Roll(tikv).Set(tikv, manual).Down(time.Minute, "t-tikv-1")
			c.Want(tikv).Replicas = 3
		})},
		{Name: "one is stuck, and another one fails with the new revision", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 3).Set(tikv, manual).Down(time.Minute, "t-tikv-1", "t-tikv-3")
		})},
		{Name: "a store is stuck, and PD has no leader", Cluster: func() *plantest.Cluster {
			c := leaderless(time.Hour)
			c.Set(pd, func(s *state.Set) { s.UpdateRevision = "v1" })
			c.Roll(tikv).Set(tikv, manual).Member("t-tikv-1").Pod.Ready = false
			return c
		}()},
		{Name: "a voter does not vote, and the last one cannot be removed without it", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(pd).Rolled(pd, 2).Set(pd, manual)
			c.Want(pd).Replicas = 1
			m := c.Member("t-pd-1")
			m.Database.Healthy, m.Database.Since, c.Seen.PD.Healthy = false, plantest.Now.Add(-time.Hour), 2
		})},
		{Name: "no voter leads, and the StatefulSet has not been seen to", Cluster: func() *plantest.Cluster {
			c := leaderless(time.Hour)
			return c.Set(pd, manual).Set(pd, func(s *state.Set) { s.Observed = false })
		}()},
	})
}

func TestGuardsOfFailover(t *testing.T) {
	voters := func(changes ...func(c *plantest.Cluster)) *plantest.Cluster {
		return failing(append([]func(c *plantest.Cluster){func(c *plantest.Cluster) {
			c.Seen.PD.Members, c.Seen.PD.Healthy = 6, 6
			lost(c, time.Hour, "t-pd-1")
			given(c, "t-pd-1", time.Minute)
			m := c.Member("t-pd-1")
			m.Database, m.Claims = state.Database{Presence: state.Absent}, nil
		}}, changes...)...)
	}
	plantest.Waits(t, "guards-failover", []plantest.Case{
		{Name: "a voter is being let go, another one is down for a while", Cluster: voters(func(c *plantest.Cluster) { lost(c, time.Minute, "t-pd-2") })},
		{Name: "a voter is being let go, another one could be given up", Cluster: voters(func(c *plantest.Cluster) { lost(c, time.Hour, "t-pd-2") })},
		{Name: "one store is given up, another one is down for a while", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			lost(c, 31*time.Minute, "t-tikv-2")
		})},
		{Name: "the discarded store is forgotten, its claim is the old one", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour, discarded)
			replacement(c, tikv)
			c.Member("t-tikv-1").Database = state.Database{Presence: state.Absent}
		})},
		{Name: "the data of a voter that was given up is discarded in any case", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-pd-1")
			given(c, "t-pd-1", time.Hour, deleted)
			m := c.Member("t-pd-1")
			m.Database, m.Claims = state.Database{Presence: state.Absent}, nil
			c.Seen.PD.Members = 2
			c.Policy.Failover.Discard = []string{"t-pd-1"}
		})},
		{Name: "the data of a store was discarded before", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour, discarded)
			replacement(c, tikv)
			c.Member("t-tikv-1").Database.State = state.StoreOffline
			c.Policy.Failover.Discard = []string{"t-tikv-1"}
		})},
		{Name: "a store is a tombstone without claims", Cluster: with(func(c *plantest.Cluster) {
			c.Down(time.Hour, "t-tikv-1")
			m := c.Member("t-tikv-1")
			m.Database.State, m.Claims = state.StoreTombstone, nil
		})},
	})
}

func TestGuardsOfVolumes(t *testing.T) {
	second := func(change func(c *state.Claim)) *plantest.Cluster {
		return with(grown, func(c *plantest.Cluster) {
			m := c.Member("t-tikv-1")
			small := m.Claims[0]
			small.Name, small.UID, small.Requested, small.Capacity = "tikv-old-1", "old", 10*gi, 10*gi
			change(&small)
			m.Claims = append(m.Claims, small)
		})
	}
	grew := func(change func(c *plantest.Cluster)) *plantest.Cluster { return with(grown, change) }
	plantest.Waits(t, "guards-volumes", []plantest.Case{
		{Name: "pods without a StatefulSet", Cluster: with(func(c *plantest.Cluster) {
			c.Volumes(tikv, 10*gi, 20*gi)
			orphaned(c, tikv)
		})},
		{Name: "an unmarked claim of a member that is gone", Cluster: grew(func(c *plantest.Cluster) {
			m := c.Add(tikv)
			m.Database = state.Database{Presence: state.Absent}
			m.Claims[0].Template, m.Claims[0].Bound, m.Claims[0].Requested, m.Claims[0].Capacity = "tikv", true, 10*gi, 10*gi
		})},
		{Name: "the last one has been asked, the others have not", Cluster: with(func(c *plantest.Cluster) {
			c.Volumes(tikv, 10*gi, 20*gi)
			c.Member("t-tikv-3").Claims[0].Requested = 20 * gi
		})},
		{Name: "a small claim besides is marked", Cluster: second(func(c *state.Claim) { c.Marked = true })},
		{Name: "a small claim besides is marked, and its pod is down", Cluster: func() *plantest.Cluster {
			return second(func(c *state.Claim) { c.Marked = true }).Down(time.Minute, "t-tikv-1")
		}()},
		{Name: "the first one cannot grow, the others have", Cluster: grew(func(c *plantest.Cluster) {
			claim := &c.Member("t-tikv-0").Claims[0]
			claim.Growth, claim.Requested, claim.Capacity = state.NotGrowable, 10*gi, 10*gi
		})},
		{Name: "a small claim besides is going", Cluster: second(func(c *state.Claim) { c.Terminating = true })},
		{Name: "a claim besides of another template", Cluster: second(func(c *state.Claim) { c.Template = "log" })},
		{Name: "it does not grow, and is larger than was asked for", Cluster: with(func(c *plantest.Cluster) {
			c.Volumes(pd, 10*gi, 20*gi)
			claims(c, pd, func(c *state.Claim) { c.Growth, c.Capacity = state.NotGrowable, 12*gi })
		})},
		{Name: "a rollout that needs a person comes first", Cluster: grew(func(c *plantest.Cluster) { c.Roll(tikv).Rolled(tikv, 3).Down(time.Hour, "t-tikv-3") })},
		{Name: "a rollout that is done, which Kubernetes has not noticed", Cluster: grew(func(c *plantest.Cluster) { c.Roll(tikv).Rolled(tikv, 0, 1, 2, 3) })},
		{Name: "a rollout that is done, and is not closed", Cluster: grew(func(c *plantest.Cluster) { c.Set(tikv, func(s *state.Set) { s.Partition = 2 }) })},
		{Name: "a rollout that Kubernetes has not noticed, but is closed", Cluster: grew(func(c *plantest.Cluster) {
			c.Set(tikv, func(s *state.Set) { s.CurrentRevision = "v0" })
		})},
		{Name: "a removed pod is still there", Cluster: grew(func(c *plantest.Cluster) {
			c.Want(tikv).Replicas, c.Member("t-tikv-3").Claims[0].Marked = 3, true
			c.Set(tikv, func(s *state.Set) { s.Replicas, s.Partition = 3, 3 })
		})},
		{Name: "claims of a store are marked", Cluster: grew(func(c *plantest.Cluster) { c.Member("t-tikv-1").Claims[0].Marked = true })},
		{Name: "a store is a tombstone", Cluster: grew(func(c *plantest.Cluster) { c.Member("t-tikv-1").Database.State = state.StoreTombstone })},
		{Name: "a store is Offline", Cluster: grew(func(c *plantest.Cluster) {
			c.Removing("t-tikv-1", time.Minute)
		})},
	})
}

func TestGuardsOfSuspension(t *testing.T) {
	all := []topology.Kind{topology.PD, topology.TiKV, topology.TiDB}
	evicting := func(changes ...func(c *plantest.Cluster)) *plantest.Cluster {
		return suspend(all, append([]func(c *plantest.Cluster){gone(tidb), func(c *plantest.Cluster) {
			c.Evicting("t-tikv-3", time.Minute, 3)
		}}, changes...)...)
	}
	pods := func(change func(p *state.Pod)) func(c *plantest.Cluster) {
		return func(c *plantest.Cluster) {
			for i := range c.Seen.Groups[pd].Members {
				change(c.Seen.Groups[pd].Members[i].Pod)
			}
		}
	}
	dead := func(p *state.Pod) { p.Ready, p.Started = false, time.Time{} }
	unseen := func(p *state.Pod) { p.Ready = false }
	voter := func(changes ...func(c *plantest.Cluster)) *plantest.Cluster {
		return suspend(all, append([]func(c *plantest.Cluster){gone(tidb, tikv), pods(dead), func(c *plantest.Cluster) {
			c.Member("t-pd-2").Claims[0].Marked = true
			c.PDUnknown()
		}}, changes...)...)
	}
	plantest.Waits(t, "guards-suspension", []plantest.Case{
		{Name: "an eviction, PD answers and Kubernetes calls none of its pods ready", Cluster: evicting(pods(dead))},
		{Name: "an eviction, PD is lost with one of its pods", Cluster: evicting(pods(dead), func(c *plantest.Cluster) {
			c.PDUnknown().Member("t-pd-0").Pod = nil
		})},
		{Name: "an eviction, PD cannot be asked and Kubernetes hears of none of its hosts", Cluster: evicting(pods(unseen), func(c *plantest.Cluster) { c.PDUnknown() })},
		{Name: "an eviction, PD's leader cannot be reached", Cluster: evicting(func(c *plantest.Cluster) { c.Unreached("t-pd-0") })},
		{Name: "PD's leader cannot be reached, a voter is marked", Cluster: voter(func(c *plantest.Cluster) { c.Unreached("t-pd-0") })},
		{Name: "an eviction, PD goes just now", Cluster: evicting(pods(func(p *state.Pod) { p.Terminating = true }), func(c *plantest.Cluster) { c.PDUnknown() })},
		{Name: "an eviction, PD has no leader", Cluster: evicting(func(c *plantest.Cluster) { c.PDUnknown().Seen.PD.Leaderless = true })},
		{Name: "PD is lost, a voter is marked", Cluster: voter()},
		{Name: "PD is lost, a voter is marked that was given up", Cluster: voter(func(c *plantest.Cluster) { given(c, "t-pd-2", time.Hour) })},
		{Name: "PD is lost, the claims of a removed voter are marked", Cluster: voter(func(c *plantest.Cluster) {
			c.Member("t-pd-2").Claims[0].Marked = false
			m := c.Add(pd)
			m.Database, m.Claims[0].Marked = state.Database{}, true
		})},
		{Name: "a store is marked, but has not been removed", Cluster: suspend(all, gone(tidb), func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Claims[0].Marked = true
		})},
	})
}

// TestGuardsOfTheWhole: decisions about the cluster as a whole.
func TestGuardsOfTheWhole(t *testing.T) {
	plantest.Waits(t, "guards-whole", []plantest.Case{
		{Name: "PD does not answer, and an eviction of a store without a member is recorded", Cluster: with(func(c *plantest.Cluster) {
			c.PDUnknown()
			c.Seen.Evictions = []state.Eviction{{StoreID: 99, Member: "t-tikv-9"}}
		})},
		{Name: "stores cannot leave while another one is lost", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 3
			c.Member("t-tikv-3").Database.State, c.Member("t-tikv-3").Database.Healthy = state.StoreOffline, false
			c.Down(time.Hour, "t-tikv-0")
			c.Seen.PD.UpStores = 2
		})},
	})
	w := with().Wanted
	if g, ok := w.Group(tidb); !ok || g.Kind != tidb {
		t.Errorf("found %t, %q", ok, g.Kind)
	}
	w.Groups = w.Groups[:2]
	if g, ok := w.Group(tidb); ok || g.Kind != "" {
		t.Errorf("found %t, %q", ok, g.Kind)
	}
}

// TestGuardsOfHooks: goals as another component could have them.
func TestGuardsOfHooks(t *testing.T) {
	impatient := plan.Hook{
		Reason: plan.LeadersEvicted, Want: "leaders evicted",
		Done: func(plan.Scope, state.Member) bool { return false },
		Step: func(_ plan.Scope, m state.Member) step.Step {
			return step.RestoreStore{Component: m.Kind, Member: m.Name, StoreID: m.Database.ID}
		},
		Since:    func(sc plan.Scope, _ state.Member) time.Time { return sc.All.At.Add(-time.Minute) },
		Timeout:  func(plan.Scope) (time.Duration, bool) { return time.Minute, true },
		Lapse:    func(plan.Scope) plan.Lapse { return plan.Fail },
		Observed: func(plan.Scope, state.Member) string { return "nothing" },
	}
	stubborn := with(forgotten("t-pd-2"), func(c *plantest.Cluster) { c.Seen.PD.Members-- })
	for name, c := range map[string]struct {
		change func(p *plan.Profile)
		with   *plantest.Cluster
		want   string
	}{
		"nothing is done for a goal that was missed": {
			func(p *plan.Profile) { p.BeforeRestart = []plan.Hook{impatient} }, with(func(c *plantest.Cluster) { c.Roll(tidb) }),
			"blocked\n! t-tidb-2: leaders not evicted: nothing after 1m0s",
		},
		"a component whose members are not recreated": {
			func(p *plan.Profile) { p.BeforeRenew = nil }, stubborn, "blocked\n! t-pd-2 not serving: pod is not ready",
		},
	} {
		profiles := profilesWith(c.change)
		if got := plantest.Text(plan.Decide(profiles, c.with.Policy, c.with.Wanted, c.with.Seen)); got != c.want {
			t.Errorf("%s: got:\n%s\nwant:\n%s", name, got, c.want)
		}
	}
}

func profilesWith(change func(p *plan.Profile)) []plan.Profile {
	profiles := component.Profiles()
	for i := range profiles {
		change(&profiles[i])
	}
	return profiles
}
