package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// silent makes PD miss the heartbeats of a store whose pod runs, for a while.
func silent(c *plantest.Cluster, name string, ago time.Duration) *state.Member {
	m := c.Member(name)
	m.Database.Healthy, m.Database.State = false, state.StoreDisconnected
	m.Database.Since, m.NotServing = plantest.Now.Add(-ago), plantest.Now.Add(-ago)
	c.Seen.PD.UpStores--
	return m
}

// unready makes Kubernetes report the pod of a running process NotReady.
func unready(m *state.Member, ago time.Duration) *state.Member {
	m.Pod.Ready, m.Pod.Since = false, plantest.Now.Add(-ago)
	return m
}

func rollTiKV(changes ...func(c *plantest.Cluster)) *plantest.Cluster {
	return with(append([]func(c *plantest.Cluster){func(c *plantest.Cluster) { c.Roll(tikv) }}, changes...)...)
}

// TestOneReadingIsNotEvidence: no process is taken down because one report says
// that it does not serve, while a peer is missing.
func TestOneReadingIsNotEvidence(t *testing.T) {
	const s, m = time.Second, time.Minute
	plantest.Table(t, "one-reading", []plantest.Case{
		{Name: "a new leader of PD has heard from no store", Cluster: rollTiKV(func(c *plantest.Cluster) {
			c.Seen.PD.LeaderSince = plantest.Now.Add(-s)
			for _, name := range []string{"t-tikv-0", "t-tikv-1", "t-tikv-2", "t-tikv-3"} {
				silent(c, name, 4*m)
			}
		})},
		{Name: "a peer is restarting, the next one is silent for 25 s", Cluster: rollTiKV(func(c *plantest.Cluster) {
			c.Rolled(tikv, 3).Down(5*s, "t-tikv-3")
			silent(c, "t-tikv-2", 25*s)
		})},
		{Name: "a peer is dead for an hour, the next one is silent", Cluster: rollTiKV(func(c *plantest.Cluster) {
			c.Down(time.Hour, "t-tikv-0")
			silent(c, "t-tikv-3", 25*s)
		})},
		{Name: "a member of PD is lost, another one has missed a ping", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(pd).Down(time.Hour, "t-pd-0")
			c.Member("t-pd-2").Database.Healthy = false
			c.Seen.PD.Healthy--
		})},
		{Name: "a TiDB server answers an error, a peer is down", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tidb).Down(m, "t-tidb-0")
			d := &c.Member("t-tidb-2").Database
			d.Healthy, d.Answer = false, state.Refused
		})},
		{Name: "a kubelet is silent, PD says Up, a peer is dead", Cluster: rollTiKV(func(c *plantest.Cluster) {
			unready(c.Down(time.Hour, "t-tikv-0").Member("t-tikv-3"), 3*m)
		})},
		{Name: "an earlier component has a rollout to finish", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(pd)
			silent(c.Roll(tikv), "t-tikv-3", time.Hour)
		})},
		{Name: "an earlier component has not converged", Cluster: with(func(c *plantest.Cluster) {
			c.Want(pd).Replicas = 5
			silent(c.Roll(tikv), "t-tikv-3", time.Hour)
		})},
	})
}

// TestVoterAboveTheReplicas: a voter above the replicas that PD still lists, and whose data goes, is counted where a
// quorum is. So a voter that two kinds of evidence call down for two minutes is restarted, without a wait of ten.
func TestVoterAboveTheReplicas(t *testing.T) {
	const m = time.Minute
	for _, above := range []bool{false, true} {
		c := plantest.New(5, 4, 3).Roll(pd).Down(3*m, "t-pd-4")
		c.Member("t-pd-4").Pod.Started = plantest.Now.Add(-time.Hour) // so that it is not known that no process runs
		if above {
			gone := c.Add(pd)
			gone.Gone, gone.Claims[0].Terminating = plantest.Now.Add(-time.Hour), true
			c.Seen.PD.Members++
		}
		if got := c.Text(); !strings.Contains(got, "restart t-pd-4") {
			t.Errorf("one above the replicas: %t\n%s", above, got)
		}
	}
}

// refusing returns a cluster in which the status ports of all TiDB servers have refused for a
// while.
func refusing(ago time.Duration) *plantest.Cluster {
	return with(func(c *plantest.Cluster) {
		c.Roll(tidb)
		for _, name := range []string{"t-tidb-0", "t-tidb-1", "t-tidb-2"} {
			m := c.Member(name)
			m.Database.Healthy, m.Database.Answer, m.Refusing = false, state.Refused, plantest.Now.Add(-ago)
			m.Database.Problem = "status port refuses connections"
		}
	})
}

// led sets since when this process has observed PD's leader.
func led(c *plantest.Cluster, ago time.Duration) *plantest.Cluster {
	c.Seen.PD.LeaderSince = plantest.Now.Add(-ago)
	return c
}

// leavingSilently returns a cluster with two Offline stores whose heartbeats PD has missed for
// long.
func leavingSilently(answer state.Answer) *plantest.Cluster {
	return rollTiKV(func(c *plantest.Cluster) {
		c.Want(tikv).Replicas = 2
		for _, name := range []string{"t-tikv-2", "t-tikv-3"} {
			d := &c.Removing(name, 10*time.Minute).Member(name).Database
			d.Since, d.Answer = plantest.Now.Add(-time.Hour), answer
			c.Member(name).NotServing = plantest.Now.Add(-2 * time.Minute)
		}
	})
}

// TestOrdinaryPath: a member that may serve is restarted only after its leaders have moved.
func TestOrdinaryPath(t *testing.T) {
	const s, m = time.Second, time.Minute
	both := func(ago time.Duration) *plantest.Cluster {
		return rollTiKV(func(c *plantest.Cluster) { unready(silent(c, "t-tikv-3", ago), ago) })
	}
	change := func(c *plantest.Cluster, name string, f func(m *state.Member)) *plantest.Cluster {
		f(c.Member(name))
		return c
	}
	plantest.Table(t, "ordinary-path", []plantest.Case{
		{Name: "PD does not hear from a store", Cluster: rollTiKV(func(c *plantest.Cluster) { silent(c, "t-tikv-3", time.Hour) })},
		{Name: "its leaders have moved", Cluster: rollTiKV(func(c *plantest.Cluster) {
			silent(c, "t-tikv-3", time.Hour)
			c.Evicting("t-tikv-3", m, 0)
		})},
		{Name: "the store above it was restarted, serves, and may not lead yet", Cluster: rollTiKV(func(c *plantest.Cluster) {
			silent(c.Rolled(tikv, 3), "t-tikv-2", time.Hour)
			c.Evicting("t-tikv-3", m, 0)
		})},
		{Name: "Kubernetes calls it NotReady, PD says Up", Cluster: rollTiKV(func(c *plantest.Cluster) {
			unready(c.Member("t-tikv-3"), time.Hour)
		})},
		{Name: "both say so for 2m, and the leader of PD only saw a saved heartbeat", Cluster: led(both(2*m), m)},
		{Name: "both say so for 2m, by the same leader of PD", Cluster: led(both(2*m), 3*m)},
		{Name: "its container does not run, PD says Up", Cluster: rollTiKV(func(c *plantest.Cluster) {
			unready(c.Member("t-tikv-3"), 5*s).Pod.Started = time.Time{}
		})},
		{Name: "its container does not run, PD does not hear from it", Cluster: rollTiKV(func(c *plantest.Cluster) {
			unready(silent(c, "t-tikv-3", 25*s), 25*s).Pod.Started = time.Time{}
		})},
		{Name: "the same, and its own port answers", Cluster: change(rollTiKV(func(c *plantest.Cluster) {
			unready(silent(c, "t-tikv-3", 25*s), 25*s).Pod.Started = time.Time{}
		}), "t-tikv-3", func(m *state.Member) { m.Database.Answer = state.Answered })},
		{Name: "PD says Up, and Kubernetes and its own port say that it does not serve", Cluster: rollTiKV(func(c *plantest.Cluster) {
			m := unready(c.Member("t-tikv-3"), time.Hour)
			m.Database.Answer, m.Refusing = state.Refused, plantest.Now.Add(-time.Hour)
		})},
		{Name: "a peer is missing, and PD has long not heard from a store whose pod is new", Cluster: rollTiKV(func(c *plantest.Cluster) {
			c.Down(m, "t-tikv-0")
			unready(silent(c, "t-tikv-3", time.Hour), 3*m).Pod.Made = plantest.Now.Add(-3 * m)
		})},
		{Name: "its pod does not exist", Cluster: rollTiKV(func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Pod, c.Member("t-tikv-3").Gone = nil, plantest.Now
		})},
		{Name: "both say so, for a while", Cluster: both(2*m - s)},
		{Name: "both say so, for two minutes", Cluster: both(2 * m)},
		{Name: "both say so, but PD's leader is new", Cluster: led(both(5*m), 10*s)},
		{Name: "both say so, but the store answers", Cluster: change(both(time.Hour), "t-tikv-3", func(m *state.Member) {
			m.Database.Answer = state.Answered
		})},
		{Name: "both say so for ten minutes, and a peer is missing", Cluster: both(10*m).Down(m, "t-tikv-0")},
		{Name: "both say so for less, and a peer is missing", Cluster: both(10*m-s).Down(m, "t-tikv-0")},
		{Name: "PD says so for long, Kubernetes for two minutes, and a peer is missing", Cluster: change(both(10*m).Down(m, "t-tikv-0"), "t-tikv-3", func(m *state.Member) {
			m.Pod.Since = plantest.Now.Add(-2 * time.Minute)
		})},
		{Name: "PD says so for long, Kubernetes for less, and a peer is missing", Cluster: change(both(10*m).Down(m, "t-tikv-0"), "t-tikv-3", func(m *state.Member) {
			m.Pod.Since = plantest.Now.Add(-119 * time.Second)
		})},
		{Name: "PD and its own port say so", Cluster: rollTiKV(func(c *plantest.Cluster) {
			silent(c, "t-tikv-3", 2*m).Database.Answer = state.Refused
		})},
		{Name: "its own port says so for less", Cluster: rollTiKV(func(c *plantest.Cluster) {
			silent(c, "t-tikv-3", 2*m).Database.Answer = state.Refused
			c.Member("t-tikv-3").NotServing = plantest.Now.Add(-m)
		})},
		{Name: "a server whose status port refuses gets the template that cures it", Cluster: with(func(c *plantest.Cluster) {
			d := &c.Roll(tidb).Member("t-tidb-2").Database
			d.Healthy, d.Answer, d.Problem = false, state.Refused, "status port refuses connections"
		})},
		{Name: "a server that cannot be asked gets it as well", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tidb).Member("t-tidb-2").Database = state.Database{Answer: state.NoAnswer, Problem: "timeout"}
		})},
		{Name: "a wrong readiness probe fails everywhere", Cluster: rollTiKV(func(c *plantest.Cluster) {
			for _, name := range []string{"t-tikv-0", "t-tikv-1", "t-tikv-2", "t-tikv-3"} {
				unready(c.Member(name), 2*m).Database.Answer = state.Answered
			}
		})},
		{Name: "a peer's host is back: its new process answers, and is NotReady since long before", Cluster: with(func(c *plantest.Cluster) {
			m := unready(c.Roll(tidb).Member("t-tidb-0"), 5*m)
			m.Pod.Started, m.Database.Answer = plantest.Now.Add(-119*s), state.Answered
		})},
		{Name: "the same, after two minutes", Cluster: with(func(c *plantest.Cluster) {
			m := unready(c.Roll(tidb).Member("t-tidb-0"), 5*m)
			m.Pod.Started, m.Database.Answer = plantest.Now.Add(-120*s), state.Answered
		})},
		{Name: "a store that was taken away past us is missing, and the next one is silent", Cluster: rollTiKV(func(c *plantest.Cluster) {
			silent(c, "t-tikv-3", 5*m)
			taken := c.Add(tikv)
			taken.Claims, taken.Database.State, taken.Database.Since = nil, state.StoreDisconnected, plantest.Now.Add(-m)
			c.Evicting("t-tikv-3", m, 0)
		})},
		{Name: "Kubernetes hears from no host, and no member can be asked", Cluster: rollTiKV(func(c *plantest.Cluster) {
			for _, name := range []string{"t-tikv-0", "t-tikv-1", "t-tikv-2", "t-tikv-3"} {
				unready(c.Member(name), time.Hour).Database.Answer = state.NoAnswer
			}
		})},
		{Name: "status ports fail everywhere", Cluster: refusing(2 * m)},
		{Name: "status ports fail everywhere, for a moment", Cluster: refusing(2*m - s)},
		{Name: "status ports fail everywhere, also with the new template", Cluster: refusing(2*m).Rolled(tidb, 2)},
		{Name: "status ports fail, and the one to restart cannot be asked", Cluster: change(refusing(2*m), "t-tidb-2", func(m *state.Member) {
			m.Database, m.Refusing = state.Database{Answer: state.NoAnswer}, time.Time{}
		})},
		{Name: "PD has no leader just now", Cluster: func() *plantest.Cluster {
			c := both(20 * m)
			c.Seen.PD.LeaderSince, c.Seen.PD.Leader = time.Time{}, "t-pd-0"
			return c
		}()},
		{Name: "it crashes again and again, runs just now, and PD does not hear from it", Cluster: crashed(rollTiKV(func(c *plantest.Cluster) {
			silent(c, "t-tikv-3", 4*m)
		}), "t-tikv-3", 7, time.Hour, 45*s, 47*s, 69*s)},
		{Name: "the same, and Kubernetes has lost sight of it for two minutes", Cluster: change(crashed(rollTiKV(func(c *plantest.Cluster) {
			silent(c, "t-tikv-3", 4*m)
		}), "t-tikv-3", 7, time.Hour, 90*s, 47*s, 150*s), "t-tikv-3", func(is *state.Member) { unready(is, 2*m) })},
		{Name: "the same, and it has ended", Cluster: crashed(rollTiKV(func(c *plantest.Cluster) {
			silent(c, "t-tikv-3", 4*m)
		}), "t-tikv-3", 7, time.Hour, 45*s, 47*s, 0)},
		{Name: "two stores that leave refuse, and PD has long not heard from them", Cluster: leavingSilently(state.Refused)},
		{Name: "the same, and they cannot be asked", Cluster: leavingSilently(state.NoAnswer)},
		{Name: "the same, and they answer", Cluster: leavingSilently(state.Answered)},
		{Name: "NotReady for long, and PD has missed one heartbeat", Cluster: change(both(20*m), "t-tikv-3", func(m *state.Member) {
			m.Database.Since, m.ReportedDown = time.Time{}, plantest.Now
		})},
		{Name: "a store runs for long and has never joined", Cluster: rollTiKV(func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Database = state.Database{Presence: state.Absent}
			c.Down(m, "t-tikv-0")
		})},
		{Name: "the only member of PD cannot be asked", Cluster: func() *plantest.Cluster {
			c := plantest.New(1, 3, 0).Roll(pd)
			return c.PDUnknown()
		}()},
	})
}
