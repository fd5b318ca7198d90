package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

func changedByHand(c *plantest.Cluster, k topology.Kind) {
	name := c.Wanted.Cluster.SetName(k)
	c.Want(k).PutBack = desired.Object{Kind: "StatefulSet", Name: name, Drift: desired.Differs, Edits: []desired.Edit{
		{Field: "containers[" + string(k) + "].image", Live: "x:v8.1.0", Applied: "x:v8.1.1", Manager: "kubectl-set"},
	}}
	c.Roll(k)
}

// Whatever a component is about to do, a pod template that somebody has changed is put back first. Pods that are
// restarted, added or made again would get the changed template.
func TestPutBackFirst(t *testing.T) {
	for name, change := range map[string]func(c *plantest.Cluster, k topology.Kind){
		"nothing else":       func(*plantest.Cluster, topology.Kind) {},
		"a rollout":          func(c *plantest.Cluster, k topology.Kind) { c.Want(k).Set.Drift = desired.Differs },
		"more replicas":      func(c *plantest.Cluster, k topology.Kind) { c.Want(k).Replicas++ },
		"fewer replicas":     func(c *plantest.Cluster, k topology.Kind) { c.Want(k).Replicas-- },
		"a member that died": func(c *plantest.Cluster, k topology.Kind) { c.Down(time.Hour, c.Wanted.Cluster.PodName(k, 1)) },
		"the controller has not seen it": func(c *plantest.Cluster, k topology.Kind) {
			c.Set(k, func(s *state.Set) { s.Observed = false })
		},
		"OnDelete": func(c *plantest.Cluster, k topology.Kind) { c.Set(k, func(s *state.Set) { s.Manual = true }) },
		"a named member": func(c *plantest.Cluster, k topology.Kind) {
			m := c.Member(c.Wanted.Cluster.PodName(k, 0))
			c.Want(k).Restarts = map[string]topology.MemberRestart{m.Name: {Pod: m.Pod.UID}}
		},
	} {
		for _, k := range []topology.Kind{topology.PD, topology.TiKV, topology.TiDB} {
			c := plantest.New(3, 4, 2)
			changedByHand(c, k)
			change(c, k)
			var of []step.Step
			for _, s := range c.Decide().Steps {
				if kind, _ := s.Target(); kind == k {
					of = append(of, s)
				}
			}
			want := "put StatefulSet " + c.Wanted.Cluster.SetName(k) + " back: containers[" + string(k) +
				"].image is x:v8.1.0 (written by kubectl-set), and x:v8.1.1 was applied"
			if len(of) != 1 || of[0].String() != want {
				t.Errorf("%s, %s: %v, want %s", name, k, of, want)
			}
		}
	}
}

// TestPutBackKeepsTheCanary: TiKV has a canary, and a person has changed its template by hand. The step that puts the
// template back has failed. All pods have the template of that person, but the rollout is not over. TiDB is not
// restarted before a person promotes the canary, though one server is down.
func TestPutBackKeepsTheCanary(t *testing.T) {
	c := plantest.New(3, 4, 2)
	c.Want(tikv).Held, c.Want(tikv).Canary = true, 2
	changedByHand(c, tikv)
	c.Rolled(tikv, 0, 1, 2, 3).Roll(tidb).Down(time.Hour, "t-tidb-1")
	c.Policy.Later = []topology.Kind{tikv}
	if got := c.Text(); strings.Contains(got, "restart t-tidb") {
		t.Errorf("%s\nwant no restart of TiDB", got)
	}
}

// A paused cluster is left as it is.
func TestPutBackPaused(t *testing.T) {
	c := plantest.New(3, 4, 2)
	changedByHand(c, topology.TiKV)
	c.Wanted.Cluster.Paused = true
	if p := c.Decide(); strings.Contains(plantest.Text(p), "put ") {
		t.Error(plantest.Text(p))
	}
}

// A StatefulSet is not recreated with a template that somebody has changed.
func TestNotRecreatedWithAChangedTemplate(t *testing.T) {
	c := plantest.New(3, 4, 2)
	c.Volumes(topology.TiKV, 10, 20)
	changedByHand(c, topology.TiKV)
	for _, s := range c.Decide().Steps {
		if _, recreates := s.(step.RecreateSet); recreates {
			t.Error(s)
		}
	}
}
