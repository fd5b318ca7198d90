package plan_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// finished gives a member a pod that is in a final phase since a while ago, on a Ready node.
func finished(c *plantest.Cluster, name string, ago time.Duration) *state.Member {
	c.Down(ago, name)
	m := c.Member(name)
	m.Ended, m.Pod.Made = plantest.Now.Add(-ago), plantest.Now.Add(-2*time.Hour)
	m.Pod.Ended, m.Pod.Started, m.Pod.Addressed = true, time.Time{}, false
	m.Pod.Node, m.Pod.NodeState, m.Pod.Problem = "n1", state.NodeReady, "pod failed: Evicted: low on memory"
	if m.Kind.Data() == topology.None {
		m.Database = state.Database{}
	}
	return m
}

// TestPodHasEnded: a pod in a final phase never runs again. It is deleted where two kinds of evidence say that nothing
// of it runs, and the StatefulSet controller had the time to do that itself.
func TestPodHasEnded(t *testing.T) {
	for name, c := range map[string]struct {
		ago  time.Duration
		also func(*plantest.Cluster, *state.Member)
		done bool
	}{
		"since long":   {5 * time.Minute, nil, true},
		"a moment ago": {time.Minute, nil, false},
		"not Ready since long, and ended a moment ago": {5 * time.Minute, func(_ *plantest.Cluster, m *state.Member) { m.Ended = plantest.Now.Add(-time.Minute) }, false},
		"the pod before it had ended":                  {5 * time.Minute, func(_ *plantest.Cluster, m *state.Member) { m.Pod.Made = plantest.Now.Add(-time.Minute) }, false},
		"its container runs by its status": {5 * time.Minute, func(_ *plantest.Cluster, m *state.Member) {
			m.Pod.Started = plantest.Now.Add(-time.Hour)
		}, false},
		"its own port answers": {5 * time.Minute, func(_ *plantest.Cluster, m *state.Member) { m.Database.Answer = state.Answered }, false},
		"the database has heard it": {5 * time.Minute, func(_ *plantest.Cluster, m *state.Member) {
			m.Database = state.Database{Presence: state.Present, ID: m.Database.ID, State: m.Database.State, Healthy: true}
		}, false},
		"it is being deleted":       {5 * time.Minute, func(_ *plantest.Cluster, m *state.Member) { m.Pod.Terminating = true }, false},
		"it has another controller": {5 * time.Minute, func(_ *plantest.Cluster, m *state.Member) { m.Pod.Controller = "Job x of batch/v1" }, false},
		"a peer is missing as well": {5 * time.Minute, func(c *plantest.Cluster, m *state.Member) {
			c.Down(5*time.Minute, c.Wanted.Cluster.PodName(m.Kind, 1))
		}, true},
		"it cannot be scheduled to": {5 * time.Minute, func(_ *plantest.Cluster, m *state.Member) { m.Pod.NodeState = state.NodeUnknown }, false},
	} {
		for _, k := range []topology.Kind{topology.PD, topology.TiKV, topology.TiDB} {
			t.Run(name+"/"+string(k), func(t *testing.T) {
				cluster := plantest.New(3, 3, 3)
				m := finished(cluster, cluster.Wanted.Cluster.PodName(k, 2), c.ago)
				if c.also != nil {
					c.also(cluster, m)
				}
				byDatabase := m.Pod.NodeState == state.NodeUnknown && k.Data() != topology.None // PD has agreed for long
				if got := strings.Contains(cluster.Text(), "recreate pod "+m.Name+", which has ended"); got != (c.done || byDatabase) {
					t.Errorf("recreated: %v\n%s", got, cluster.Text())
				}
			})
		}
	}
}

// TestPodHasEndedOnLostNode: where the node of the pod is not heard, its phase may be the word of another controller.
// PD has to say for long that the member does not serve, and where a peer is missing for longer.
func TestPodHasEndedOnLostNode(t *testing.T) {
	for name, c := range map[string]struct {
		ago  time.Duration
		also func(*plantest.Cluster, *state.Member)
		done bool
	}{
		"PD agrees":                             {3 * time.Minute, nil, true},
		"PD cannot be asked":                    {time.Hour, func(c *plantest.Cluster, _ *state.Member) { c.PDUnknown() }, false},
		"PD agrees, and a peer is missing":      {3 * time.Minute, func(c *plantest.Cluster, _ *state.Member) { c.Down(3*time.Minute, "t-tikv-1") }, false},
		"PD agrees for long, a peer is missing": {11 * time.Minute, func(c *plantest.Cluster, _ *state.Member) { c.Down(3*time.Minute, "t-tikv-1") }, true},
		"PD has elected a leader a moment ago":  {3 * time.Minute, func(c *plantest.Cluster, _ *state.Member) { c.Seen.PD.LeaderSince = plantest.Now.Add(-time.Second) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := plantest.New(3, 3, 1)
			m := finished(cluster, "t-tikv-2", c.ago)
			m.Pod.NodeState = state.NodeNotReady
			if c.also != nil {
				c.also(cluster, m)
			}
			if got := strings.Contains(cluster.Text(), "recreate pod t-tikv-2, which has ended"); got != c.done {
				t.Errorf("recreated: %v\n%s", got, cluster.Text())
			}
		})
	}
}

// TestEndedIsNotGivenUp: a member that is down for long since its pod has ended gets another pod. It is not given up
// with its data, also by a run that has just begun.
func TestEndedIsNotGivenUp(t *testing.T) {
	for _, name := range []string{"t-pd-2", "t-tikv-2", "t-tidb-2"} {
		cluster := plantest.New(3, 3, 3)
		cluster.Policy.Failover.Members = true
		m := finished(cluster, name, 2*time.Hour)
		m.Ended = plantest.Now.Add(-time.Second)
		if text := cluster.Text(); strings.Contains(text, "give up") || !strings.Contains(text, "at the time limit it is recreated") {
			t.Error(text)
		}
	}
}

// TestEndedKeepsData: a claim that is being deleted goes with its pod. Data that counts stays until others have it.
func TestEndedKeepsData(t *testing.T) {
	cluster := plantest.New(3, 3, 1)
	m := finished(cluster, "t-tikv-2", 5*time.Minute)
	m.Claims[0].Terminating, m.Pod.Claims = true, []string{m.Claims[0].Name}
	if text := cluster.Text(); strings.Contains(text, "recreate pod") {
		t.Error(text)
	}
}

// TestEndedReplacement: a member that was given up and has claims that were made since is its own replacement. Its pod
// is recreated, because nothing else would let the member join. With the claims that were given up the pod stays.
func TestEndedReplacement(t *testing.T) {
	for claim, want := range map[string]bool{"of the member that was given up": true, "": false} {
		cluster := plantest.New(3, 3, 1)
		m := finished(cluster, "t-pd-2", 5*time.Minute)
		m.Database = state.Database{Presence: state.Absent}
		given := topology.Failure{Member: m.Name, ID: 7, Claims: []string{cmp.Or(claim, m.Claims[0].UID)}, Deleted: true}
		cluster.Want(topology.PD).Failures = []topology.Failure{given}
		if text := cluster.Text(); strings.Contains(text, "recreate pod t-pd-2, which has ended") != want {
			t.Errorf("claim %q:\n%s", claim, text)
		}
	}
}

// TestEndedIsReplacedInTime: a run that has nothing else to wait for comes back when the two minutes are over.
func TestEndedIsReplacedInTime(t *testing.T) {
	cluster := plantest.New(3, 3, 1)
	finished(cluster, "t-tikv-2", time.Minute)
	g := cluster.Decide().Gates[0]
	if want := plantest.Now.Add(time.Minute); !g.Deadline.Equal(want) || g.Observed != "pod failed: Evicted: low on memory; at the time limit it is recreated" {
		t.Errorf("deadline %s, want %s; %s", g.Deadline, want, g.Observed)
	}
}
