package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// oldMounts are where pods mount the volumes of a store before that.
var oldMounts = map[string]string{"tikv": "/var/lib/tikv", "tikv-wal": "/old"}

// otherVolumes has a volume of stores mounted at another path, where no pod mounts the volume yet. All stores are to be
// replaced for that.
func otherVolumes(c *plantest.Cluster) {
	c.Volumes(tikv, 10*gi, 10*gi)
	g := c.Want(tikv)
	g.Volumes = append(g.Volumes, topology.Volume{Name: "tikv-wal", Size: gi, Path: "/wal"})
	g.OtherVolumes, g.Set.Drift = true, desired.Differs
	for i := range c.Seen.Groups[tikv].Members {
		m := &c.Seen.Groups[tikv].Members[i]
		m.Pod.Mounts = oldMounts
		replaced(c, m.Name)
	}
	c.Set(tikv, func(s *state.Set) { s.Volumes["tikv-wal"] = state.ClaimTemplate{Size: gi} })
}

// remade is otherVolumes after the StatefulSet was made again. No pod has its revision yet.
func remade(c *plantest.Cluster) {
	otherVolumes(c)
	g := c.Want(tikv)
	g.OtherVolumes, g.Set.Drift = false, desired.None
	c.Set(tikv, func(s *state.Set) { s.UpdateRevision, s.CurrentRevision = "v2", "v2" })
}

// inBatches is after a rollout in batches that has left t-tikv-3, which keeps its old volumes. A user asks for another class.
func inBatches(c *plantest.Cluster) {
	c.Want(tikv).Volumes[0].Class = "fast"
	c.Set(tikv, func(s *state.Set) { s.InBatches, s.CurrentRevision = true, "v1" })
	for i := range c.Seen.Groups[tikv].Members {
		if m := &c.Seen.Groups[tikv].Members[i]; m.Name != "t-tikv-3" {
			m.Pod.Revision, m.Pod.Mounts = "v2", map[string]string{"tikv": "/var/lib/tikv", "tikv-wal": "/wal"}
		}
	}
}

// leaving has only t-tikv-0 and t-tikv-1 wanted. The store t-tikv-2 is in a state, and leaves after t-tikv-3. The store
// t-tikv-1 is a tombstone, and needs the new volumes.
func leaving(c *plantest.Cluster, is state.StoreState) {
	c.Want(tikv).Replicas = 2
	c.Down(time.Hour, "t-tikv-1").Member("t-tikv-1").Database.State = state.StoreTombstone
	m := c.Member("t-tikv-2")
	m.Database.State, m.Claims[0].Marked = is, is == state.StoreTombstone
}

// beside has a pod of t-tikv-3 outside of the StatefulSet, whose store is in a state. The store t-tikv-1 is a tombstone,
// and needs the new volumes.
func beside(c *plantest.Cluster, is state.StoreState) {
	c.Want(tikv).Replicas = 3
	c.Set(tikv, func(s *state.Set) { s.Replicas, s.Ordered = 3, true })
	c.Down(time.Hour, "t-tikv-1").Member("t-tikv-1").Database.State = state.StoreTombstone
	m := c.Member("t-tikv-3")
	m.Database.State, m.Claims[0].Marked = is, true
}

// marksVoter has other volumes wanted for PD, and t-pd-2 is to leave, which has the mark of its removal.
func marksVoter(c *plantest.Cluster) {
	c.Volumes(pd, 10*gi, 10*gi)
	g := c.Want(pd)
	g.Volumes, g.Replicas = append(g.Volumes, topology.Volume{Name: "pd-log", Size: gi, Path: "/log"}), 2
	g.OtherVolumes, g.Set.Drift = true, desired.Differs
	for i := range c.Seen.Groups[pd].Members {
		m := &c.Seen.Groups[pd].Members[i]
		m.Pod.Mounts = map[string]string{"pd": "/var/lib/pd", "pd-log": "/former"}
	}
	c.Set(pd, func(s *state.Set) { s.Volumes["pd-log"] = state.ClaimTemplate{Size: gi} })
	replaced(c, "t-pd-0", "t-pd-1").Member("t-pd-2").Claims[0].Marked = true
}

// TestOtherVolumes: only members that are replaced get volumes that are removed or mounted at another path. The
// pod template and the claim templates change together, and no rollout gives them to a member with its old data.
func TestOtherVolumes(t *testing.T) {
	plantest.Waits(t, "othervolumes", []plantest.Case{
		{Name: "the StatefulSet is made again", Cluster: with(otherVolumes)},
		{Name: "the StatefulSet is made again before later components restart", Cluster: with(otherVolumes, func(c *plantest.Cluster) { c.Roll(tidb) })},
		{Name: "the configuration is written first", Cluster: with(otherVolumes, func(c *plantest.Cluster) {
			c.Want(tikv).Config = []desired.Object{{Kind: "ConfigMap", Name: "t-tikv", Drift: desired.Missing}}
		})},
		{Name: "not while a rollout of an earlier component is under way", Cluster: with(otherVolumes, func(c *plantest.Cluster) { c.Roll(pd) })},
		{Name: "a rollout under way ends, because the members are replaced", Cluster: with(otherVolumes, func(c *plantest.Cluster) { c.Roll(tikv).Rolled(tikv, 3) })},
		{Name: "not while a pod is made", Cluster: with(otherVolumes, func(c *plantest.Cluster) { c.Member("t-tikv-2").Pod = nil })},
		{Name: "while Kubernetes makes no pod of a member without claims, before one that fails is ready", Cluster: with(otherVolumes, func(c *plantest.Cluster) {
			c.Down(time.Hour, "t-tikv-2").Set(tikv, func(s *state.Set) { s.Ordered = true })
			m := c.Member("t-tikv-3")
			m.Pod, m.Claims, m.Database = nil, nil, state.Database{Presence: state.Absent}
		})},
		{Name: "not while Kubernetes makes no pod of a member with claims, before one that the database has removed is ready", Cluster: with(otherVolumes, func(c *plantest.Cluster) {
			c.Down(time.Hour, "t-tikv-1", "t-tikv-2").Set(tikv, func(s *state.Set) { s.Ordered = true })
			c.Member("t-tikv-1").Database.State = state.StoreTombstone
			c.Member("t-tikv-2").Pod, c.Want(tikv).Replicas = nil, 3
		})},
		{Name: "while Kubernetes makes no pod of a store that PD has removed, before one that PD has removed is ready", Cluster: with(otherVolumes, func(c *plantest.Cluster) {
			c.Down(time.Hour, "t-tikv-1").Set(tikv, func(s *state.Set) { s.Ordered = true })
			c.Member("t-tikv-1").Database.State = state.StoreTombstone
			m := c.Member("t-tikv-3")
			m.Pod, m.Database.State = nil, state.StoreTombstone
		})},
		{Name: "while a store that is not wanted is a tombstone, and leaves after another one", Cluster: with(otherVolumes, func(c *plantest.Cluster) {
			leaving(c, state.StoreTombstone)
		})},
		{Name: "not while a store that is not wanted has regions", Cluster: with(otherVolumes, func(c *plantest.Cluster) {
			leaving(c, state.StoreOffline)
		})},
		{Name: "while Kubernetes deletes the pod of a tombstone only when a store is ready that PD has removed", Cluster: with(otherVolumes, func(c *plantest.Cluster) {
			beside(c, state.StoreTombstone)
		})},
		{Name: "not while Kubernetes is to delete the pod of a store that PD counts on", Cluster: with(otherVolumes, func(c *plantest.Cluster) {
			beside(c, state.StoreUp)
		})},
		{Name: "not while a voter leaves", Cluster: with(marksVoter)},
		{Name: "while a voter that is only marked waits for one that PD has removed, and that needs the new volumes", Cluster: with(marksVoter, func(c *plantest.Cluster) {
			c.Down(time.Hour, "t-pd-1")
			m := c.Member("t-pd-1")
			m.Database, m.Claims[0].Marked = state.Database{Presence: state.Absent}, true
			m.Claims[0].Identity.Labels = map[string]string{topology.LabelMemberID: "2"}
			c.Seen.PD.Members, c.Seen.PD.Healthy = 2, 2
		})},
		{Name: "one more member at the same time", Cluster: with(otherVolumes, func(c *plantest.Cluster) { c.Want(tikv).Replicas = 5 })},
		{Name: "then one member is replaced after another", Cluster: with(remade)},
		{Name: "a store whose pod was lost, and that does not serve with the new volumes, comes first", Cluster: with(remade, func(c *plantest.Cluster) {
			c.Down(time.Minute, "t-tikv-1")
			m := c.Member("t-tikv-1")
			m.Pod.Revision, m.Pod.Mounts = "v2", map[string]string{"tikv": "/var/lib/tikv", "tikv-wal": "/wal"}
		})},
		{Name: "a store with its old pod is down, and no restart gives it the new volumes", Cluster: with(remade, func(c *plantest.Cluster) {
			c.Down(time.Hour, "t-tikv-1")
		})},
		{Name: "OnDelete: a user who asks for the restart of a member gives it no new volumes", Cluster: with(remade, func(c *plantest.Cluster) {
			c.Set(tikv, func(s *state.Set) { s.Manual = true }).Want(tikv).Manual = true
			c.Down(time.Hour, "t-tikv-1")
			name(c, "t-tikv-1")
		})},
		{Name: "another class while members are replaced: the StatefulSet is made again", Cluster: with(remade, func(c *plantest.Cluster) {
			c.Want(tikv).Volumes[0].Class = "fast"
		})},
		{Name: "another class, and only stores with old volumes are left of a rollout in batches: the StatefulSet is made again", Cluster: with(remade, inBatches)},
		{Name: "another class, and a store without old volumes is left, too: the StatefulSet waits", Cluster: with(remade, inBatches, func(c *plantest.Cluster) {
			c.Member("t-tikv-1").Pod.Revision = "v1"
		})},
		{Name: "larger volumes while members are replaced, and a rollout has begun: the replacement goes on", Cluster: with(remade, func(c *plantest.Cluster) {
			c.Want(tikv).Volumes[0].Size = 20 * gi
			c.Set(tikv, func(s *state.Set) { s.CurrentRevision = "v1" })
		})},
		{Name: "larger volumes, a rollout has begun, and a spare store is asked for: it is added", Cluster: with(remade, func(c *plantest.Cluster) {
			c.Want(tikv).Volumes[0].Size = 20 * gi
			spare(c).Set(tikv, func(s *state.Set) { s.CurrentRevision = "v1" })
		})},
		{Name: "a store that PD does not list restarts with the new volumes", Cluster: with(remade, func(c *plantest.Cluster) {
			c.Down(time.Hour, "t-tikv-3").Member("t-tikv-3").Database = state.Database{Presence: state.Absent}
		})},
		{Name: "nothing restarts a member that nobody has named", Cluster: with(remade, func(c *plantest.Cluster) { c.Want(tikv).Replacements = nil })},
	})
}

// TestRestartUnlisted: a restart that may give a store other volumes depends on that PD does not list the store.
func TestRestartUnlisted(t *testing.T) {
	unlisted := func(c *plantest.Cluster) {
		c.Down(time.Hour, "t-tikv-3").Member("t-tikv-3").Database = state.Database{Presence: state.Absent}
	}
	for _, tt := range []struct {
		name    string
		cluster *plantest.Cluster
		want    bool
	}{
		{"other volumes", with(remade, unlisted), true},
		{"the same volumes", with(func(c *plantest.Cluster) { c.Roll(tikv) }, unlisted), false},
	} {
		steps := tt.cluster.Decide().Steps
		if len(steps) != 1 {
			t.Fatalf("%s: %v", tt.name, steps)
		}
		if r, ok := steps[0].(step.Restart); !ok || r.Member != "t-tikv-3" || r.Unlisted != tt.want {
			t.Errorf("%s: %+v", tt.name, steps[0])
		}
	}
}
