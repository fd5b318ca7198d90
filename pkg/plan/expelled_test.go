package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan/plantest"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
)

// TestExpelled: PD does not know a member whose pod a rollout has reached. The rollout
// waits for it, and it needs new data if PD knew it once, which its claim tells.
func TestExpelled(t *testing.T) {
	expelled := func(c *plantest.Cluster) *state.Member {
		lost(c, time.Hour, "t-pd-2")
		m := c.Roll(pd).Member("t-pd-2")
		m.Pod.Revision = c.Seen.Groups[pd].Set.UpdateRevision
		m.Database = state.Database{Presence: state.Absent}
		c.Seen.PD.Members, c.Seen.PD.Healthy = 2, 2
		return m
	}
	plantest.Table(t, "expelled", []plantest.Case{
		{Name: "PD knew it once", Cluster: failing(func(c *plantest.Cluster) { expelled(c) })},
		{Name: "PD has never known it", Cluster: failing(func(c *plantest.Cluster) { expelled(c).Claims[0].Identity.Labels = nil })},
		{Name: "PD knew it once, and a run that is not asked to give it up", Cluster: with(func(c *plantest.Cluster) { expelled(c) })},
		{Name: "PD knew it once, and its claim is going", Cluster: failing(func(c *plantest.Cluster) { expelled(c).Claims[0].Terminating = true })},
	})
}
