package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

const gi = topology.Size(1 << 30)

// claims changes the claims of all members of a component.
func claims(c *plantest.Cluster, k topology.Kind, change func(*state.Claim)) {
	for _, m := range c.Seen.Groups[k].Members {
		for i := range m.Claims {
			change(&m.Claims[i])
		}
	}
}

// grown gives members volumes of 10Gi for which 20Gi are wanted and requested.
func grown(c *plantest.Cluster) {
	c.Volumes(tikv, 10*gi, 20*gi)
	claims(c, tikv, func(c *state.Claim) { c.Requested, c.Capacity = 20*gi, 20*gi })
}

// modified gives members volumes of a VolumeAttributesClass for which another one is wanted.
func modified(c *plantest.Cluster) {
	c.Volumes(tikv, 10*gi, 10*gi).Want(tikv).Volumes[0].Attributes = "gold"
	c.Set(tikv, func(s *state.Set) { s.Volumes["tikv"] = state.ClaimTemplate{Size: 10 * gi, Attributes: "silver"} })
	claims(c, tikv, func(c *state.Claim) { c.Attributes, c.Modified = "silver", "silver" })
}

// movedToClass has all stores replaced for another storage class.
func movedToClass(c *plantest.Cluster) {
	c.Volumes(tikv, 10*gi, 10*gi).Want(tikv).Volumes[0].Class = "fast"
	replaced(c, "t-tikv-0", "t-tikv-1", "t-tikv-2", "t-tikv-3")
}

func orphaned(c *plantest.Cluster, k topology.Kind) {
	c.Set(k, func(s *state.Set) { *s = state.Set{} })
	c.Want(k).Set.Drift = desired.Missing
}

// crowded has all stores replaced and asks for larger volumes. The third store leaves, and the disk of the first is nearly
// full.
func crowded(c *plantest.Cluster) {
	c.Volumes(tikv, 10*gi, 20*gi)
	replaced(c, "t-tikv-0", "t-tikv-1", "t-tikv-2", "t-tikv-3").Removing("t-tikv-3", time.Minute)
	m := c.Member("t-tikv-0")
	m.Database.Capacity, m.Database.Available = 10*gi, gi
}

// full has all stores replaced and asks for larger volumes. No store leaves yet, and the disks of all stores are nearly
// full. So no store can be taken offline.
func full(c *plantest.Cluster) {
	c.Volumes(tikv, 10*gi, 20*gi)
	replaced(c, "t-tikv-0", "t-tikv-1", "t-tikv-2", "t-tikv-3")
	c.Set(tikv, func(s *state.Set) { s.Volumes["tikv"] = state.ClaimTemplate{Size: 20 * gi} })
	for i := range c.Seen.Groups[tikv].Members {
		d := &c.Seen.Groups[tikv].Members[i].Database
		d.Capacity, d.Available = 10*gi, gi
		c.Seen.PD.Placement.Stores = append(c.Seen.PD.Placement.Stores, state.Store{
			ID: d.ID, State: state.StoreUp, Capacity: d.Capacity, Available: d.Available, Regions: d.Regions,
		})
	}
}

func TestLargerVolumes(t *testing.T) {
	plantest.Waits(t, "volumes", []plantest.Case{
		{Name: "pd-A8 tidb-S1: as large as wanted", Cluster: with(func(c *plantest.Cluster) { c.Volumes(tikv, 10*gi, 10*gi) })},
		{Name: "tidb-S1 tikv-11-26: as large as wanted, without a class or not bound", Cluster: with(func(c *plantest.Cluster) {
			c.Volumes(tikv, 10*gi, 10*gi).Volumes(pd, 10*gi, 10*gi)
			claims(c, tikv, func(c *state.Claim) { c.Class, c.Growth = "", state.NotGrowable })
			claims(c, pd, func(c *state.Claim) { c.Bound, c.Capacity = false, 0 })
		})},
		{Name: "tidb-S10: a volume is lost, which is no matter of its size", Cluster: with(func(c *plantest.Cluster) {
			c.Volumes(tikv, 10*gi, 10*gi)
			claims(c, tikv, func(c *state.Claim) { c.Bound, c.Capacity = false, 0 })
			c.Want(tidb).Replicas = 4
		})},
		{Name: "all members at once", Cluster: with(func(c *plantest.Cluster) { c.Volumes(tikv, 10*gi, 20*gi) })},
		{Name: "two volumes of one store are being resized", Cluster: with(func(c *plantest.Cluster) {
			c.Volumes(tikv, 10*gi, 20*gi)
			claims(c, tikv, func(c *state.Claim) { c.Requested, c.Capacity = 20*gi, 20*gi })
			m := c.Member("t-tikv-1")
			m.Claims = append(m.Claims, m.Claims[0])
			m.Claims[0].Capacity, m.Claims[1].Capacity, m.Claims[1].Name = 10*gi, 10*gi, "log-t-tikv-1"
		})},
		{Name: "some have been asked, then the run was killed", Cluster: with(func(c *plantest.Cluster) {
			c.Volumes(pd, 10*gi, 20*gi)
			c.Member("t-pd-0").Claims[0].Requested = 20 * gi
		})},
		{Name: "tidb-S2: all stores are down, TiDB is scaled", Cluster: with(func(c *plantest.Cluster) {
			c.Volumes(tikv, 10*gi, 20*gi).Down(time.Hour, "t-tikv-0", "t-tikv-1", "t-tikv-2", "t-tikv-3")
			c.Want(tidb).Replicas = 4
		})},
		{Name: "tidb-S2: all stores are down, and their volumes grow", Cluster: with(func(c *plantest.Cluster) {
			c.Volumes(tikv, 10*gi, 20*gi).Down(time.Hour, "t-tikv-0", "t-tikv-1", "t-tikv-2", "t-tikv-3")
			claims(c, tikv, func(c *state.Claim) { c.Requested, c.Resizing = 20*gi, "the node has to resize the filesystem" })
			c.Set(tikv, func(s *state.Set) { s.Volumes["tikv"] = state.ClaimTemplate{Size: 20 * gi} })
		})},
		{Name: "all have been asked, some are there: the StatefulSet", Cluster: with(func(c *plantest.Cluster) {
			grown(c)
			c.Member("t-tikv-1").Claims[0].Capacity = 10 * gi
		})},
		{Name: "a volume does not grow", Cluster: with(func(c *plantest.Cluster) {
			grown(c)
			c.Set(tikv, func(s *state.Set) { s.Volumes["tikv"] = state.ClaimTemplate{Size: 20 * gi} })
			m := c.Member("t-tikv-1")
			m.Claims[0].Capacity, m.Claims[0].Resizing, m.Claims[0].Since = 10*gi, "resizing fails: out of disks", plantest.Now.Add(-time.Hour)
		})},
		{Name: "a waiting volume does not hold back the rollout of another component", Cluster: with(func(c *plantest.Cluster) {
			grown(c)
			c.Set(tikv, func(s *state.Set) { s.Volumes["tikv"] = state.ClaimTemplate{Size: 20 * gi} })
			c.Member("t-tikv-1").Claims[0].Capacity = 10 * gi
			c.Roll(tidb)
		})},
		{Name: "tidb-B20 pd-A9: paused", Cluster: with(func(c *plantest.Cluster) { grown(c); c.Wanted.Cluster.Paused = true })},
		{Name: "tidb-B20: never for a smaller size", Cluster: with(func(c *plantest.Cluster) { c.Volumes(tikv, 20*gi, 10*gi) })},
		{Name: "a claim was made larger by hand", Cluster: with(func(c *plantest.Cluster) {
			c.Volumes(tikv, 10*gi, 10*gi)
			c.Member("t-tikv-1").Claims[0].Requested = 30 * gi
			c.Member("t-tikv-1").Claims[0].Capacity = 30 * gi
		})},
		{Name: "tidb-B34: another VolumeAttributesClass", Cluster: with(modified)},
		{Name: "tidb-B34: the claims ask for it, one volume has it, then the StatefulSet", Cluster: with(modified, func(c *plantest.Cluster) {
			claims(c, tikv, func(c *state.Claim) {
				c.Attributes, c.Modifying = "gold", "Kubernetes reports InProgress for class gold"
			})
			c.Member("t-tikv-0").Claims[0].Modified = "gold"
		})},
		{Name: "tidb-B34: the storage refuses the class", Cluster: with(modified, func(c *plantest.Cluster) {
			claims(c, tikv, func(c *state.Claim) { c.Attributes, c.Modified = "gold", "gold" })
			c.Set(tikv, func(s *state.Set) { s.Volumes["tikv"] = state.ClaimTemplate{Size: 10 * gi, Attributes: "gold"} })
			first := &c.Member("t-tikv-0").Claims[0]
			first.Modified, first.Modifying, first.Infeasible = "silver", "Kubernetes reports Infeasible for class gold: no such type", true
		})},
		{Name: "not during a rollout", Cluster: with(grown, func(c *plantest.Cluster) { c.Roll(tikv).Rolled(tikv, 3) })},
		{Name: "not before a rollout", Cluster: with(grown, func(c *plantest.Cluster) { c.Want(tikv).Set.Drift = desired.Differs; c.Roll(pd) })},
		{Name: "not while scaling out", Cluster: with(grown, func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 5
			c.Down(time.Minute, "t-tikv-3")
			c.Member("t-tikv-3").Database = state.Database{Presence: state.Absent}
		})},
		{Name: "another class: before a member is added, while another one joins", Cluster: with(movedToClass, func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 5
			c.Down(time.Minute, "t-tikv-3")
			c.Member("t-tikv-3").Database = state.Database{Presence: state.Absent}
		})},
		{Name: "another class: before a member is added and all restart", Cluster: with(movedToClass, func(c *plantest.Cluster) {
			c.Want(tikv).Replicas, c.Want(tikv).Set.Drift = 5, desired.Differs
		})},
		{Name: "another class: before the spare store is added", Cluster: with(movedToClass, func(c *plantest.Cluster) { spare(c) })},
		{Name: "another class during a rollout: the spare store is added after both", Cluster: with(movedToClass, func(c *plantest.Cluster) {
			spare(c).Roll(tikv).Rolled(tikv, 3)
		})},
		{Name: "another class during a rollout: a store in place of a lost one is added at once", Cluster: with(movedToClass, func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 3).Down(time.Hour, "t-tikv-0")
			c.Want(tikv).Failures = []topology.Failure{{Member: "t-tikv-0", ID: c.Member("t-tikv-0").Database.ID, Created: plantest.Now.Add(-time.Minute)}}
		})},
		{Name: "another class during a rollout: a store that takes over data which is being deleted is added at once", Cluster: with(movedToClass, func(c *plantest.Cluster) {
			spare(c).Roll(tikv).Rolled(tikv, 3).Member("t-tikv-2").Claims[0].Terminating = true
		})},
		{Name: "another class during a rollout: a store that takes over regions of one that is offline is added at once", Cluster: with(movedToClass, func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 3).Offline("t-tikv-0")
			c.Want(tikv).Replicas = 5
		})},
		{Name: "another class during a rollout: a store that somebody has scaled away, and that has no data, is added at once", Cluster: with(movedToClass, func(c *plantest.Cluster) {
			c.Roll(tikv).Set(tikv, func(s *state.Set) { s.Replicas = 3 })
			m := c.Member("t-tikv-3")
			m.Pod, m.Claims, m.Database.State = nil, nil, state.StoreDown
		})},
		{Name: "another class, fewer members: before these leave", Cluster: with(movedToClass, func(c *plantest.Cluster) { c.Want(tikv).Replicas = 3 })},
		{Name: "a class that lets nothing grow, and a cancel after the template was made larger", Cluster: with(func(c *plantest.Cluster) {
			c.Volumes(tikv, 10*gi, 20*gi).Set(tikv, func(s *state.Set) { s.Volumes["tikv"] = state.ClaimTemplate{Size: 20 * gi} })
			claims(c, tikv, func(c *state.Claim) { c.Requested, c.Capacity = 20*gi, 20*gi })
			m := c.Member("t-tikv-1")
			m.Claims[0].Requested, m.Claims[0].Capacity, m.Claims[0].Growth = 10*gi, 10*gi, state.NotGrowable
		})},
		{Name: "of stores that are replaced, the one whose disk is nearly full while regions leave another store", Cluster: with(crowded)},
		{Name: "of stores that are replaced, none before one leaves", Cluster: with(crowded, func(c *plantest.Cluster) {
			c.Seen.Removals = nil
			c.Member("t-tikv-3").Database.State = state.StoreUp
		})},
		{Name: "not of a store, while its claim is being deleted", Cluster: with(func(c *plantest.Cluster) {
			c.Volumes(tikv, 10*gi, 20*gi).Set(tikv, func(s *state.Set) { s.Volumes["tikv"] = state.ClaimTemplate{Size: 20 * gi} })
			claims(c, tikv, func(c *state.Claim) { c.Terminating = true })
		})},
		{Name: "of stores that are replaced, none when no regions are left", Cluster: with(crowded, func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Database.Regions = 0
		})},
		{Name: "of stores that are replaced, all but the next one, where no other store has room for regions", Cluster: with(full)},
		{Name: "of stores that are replaced, all but one that is not wanted, where no other store has room for regions", Cluster: with(full, func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 3
		})},
		{Name: "of stores that are replaced, none while another store has room for regions", Cluster: with(full, func(c *plantest.Cluster) {
			c.Seen.PD.Placement.Stores = append(c.Seen.PD.Placement.Stores, state.Store{ID: 99, State: state.StoreUp, Capacity: 10 * gi, Available: 9 * gi})
		})},
		{Name: "of stores that are replaced, none that cannot grow", Cluster: with(crowded, func(c *plantest.Cluster) {
			claims(c, tikv, func(c *state.Claim) { c.Growth = state.NotGrowable })
		})},
		{Name: "of stores that are replaced, none that is not bound", Cluster: with(crowded, func(c *plantest.Cluster) {
			claims(c, tikv, func(c *state.Claim) { c.Bound = false })
		})},
		{Name: "of stores that are replaced, no volume without data", Cluster: with(crowded, func(c *plantest.Cluster) {
			c.Want(tikv).Volumes[0].Name = "tikv-log"
			claims(c, tikv, func(c *state.Claim) { c.Template = "tikv-log" })
		})},
		{Name: "not while a store leaves", Cluster: with(grown, func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 3
			c.Member("t-tikv-3").Database.State = state.StoreOffline
		})},
		{Name: "not before the controller has seen the spec", Cluster: with(grown, func(c *plantest.Cluster) {
			c.Set(tikv, func(s *state.Set) { s.Observed = false })
		})},
		{Name: "also where restarts are the user's", Cluster: with(grown, func(c *plantest.Cluster) {
			c.Roll(tikv).Set(tikv, func(s *state.Set) { s.Manual = true })
			c.Want(tikv).Manual = true
		})},
		{Name: "a class that lets nothing grow, the template is as wanted", Cluster: with(func(c *plantest.Cluster) {
			c.Volumes(tikv, 10*gi, 20*gi).Set(tikv, func(s *state.Set) { s.Volumes["tikv"] = state.ClaimTemplate{Size: 20 * gi} })
			claims(c, tikv, func(c *state.Claim) { c.Growth = state.NotGrowable })
			c.Member("t-tikv-1").Claims[0].Class = ""
			c.Roll(tidb)
		})},
		{Name: "a static volume that is larger than its claim says", Cluster: with(func(c *plantest.Cluster) {
			c.Volumes(tikv, 10*gi, 10*gi).Want(tikv).Volumes[0].Size = 20 * gi
			c.Set(tikv, func(s *state.Set) { s.Volumes["tikv"] = state.ClaimTemplate{Size: 20 * gi} })
			claims(c, tikv, func(c *state.Claim) { c.Class, c.Growth, c.Capacity = "", state.NotGrowable, 100*gi })
		})},
		{Name: "a class that may not be read: Kubernetes reports it", Cluster: with(func(c *plantest.Cluster) {
			c.Volumes(tikv, 10*gi, 20*gi)
			claims(c, tikv, func(c *state.Claim) { c.Growth = state.GrowthUnknown })
		})},
		{Name: "tidb-S1 tikv-11-26: a claim that is not bound cannot grow yet", Cluster: with(func(c *plantest.Cluster) {
			c.Volumes(tikv, 10*gi, 20*gi)
			claims(c, tikv, func(c *state.Claim) { c.Requested, c.Capacity = 20*gi, 20*gi })
			m := c.Member("t-tikv-3")
			m.Claims[0].Requested, m.Claims[0].Capacity, m.Claims[0].Bound = 10*gi, 0, false
		})},
		{Name: "what a removed member left behind stays as it is", Cluster: with(func(c *plantest.Cluster) {
			c.Volumes(tikv, 10*gi, 20*gi)
			claims(c, tikv, func(c *state.Claim) { c.Requested, c.Capacity = 20*gi, 20*gi })
			c.Set(tikv, func(s *state.Set) { s.Volumes["tikv"] = state.ClaimTemplate{Size: 20 * gi} })
			m := c.Add(tikv)
			m.Database = state.Database{Presence: state.Absent}
			m.Claims[0].Marked, m.Claims[0].Template = true, "tikv"
			m.Claims[0].Requested = 10 * gi
		})},
		{Name: "what is to be suspended is not recreated", Cluster: with(grown, func(c *plantest.Cluster) {
			c.Want(tikv).Suspend, c.Want(tidb).Suspend = true, true
		})},
		{Name: "the former StatefulSet is still going", Cluster: with(grown, func(c *plantest.Cluster) {
			c.Set(tikv, func(s *state.Set) { s.Terminating = true })
		})},
	})
}

// TestOrphanedPods: a person has deleted a StatefulSet without its pods. Or a run did, and was
// killed before it had created the next StatefulSet.
func TestOrphanedPods(t *testing.T) {
	plantest.Table(t, "orphaned", []plantest.Case{
		{Name: "as many as there are", Cluster: with(grown, func(c *plantest.Cluster) { orphaned(c, tikv) })},
		{Name: "PD does not answer", Cluster: with(func(c *plantest.Cluster) { orphaned(c, tikv); c.PDUnknown() })},
		{Name: "fewer are wanted", Cluster: with(func(c *plantest.Cluster) { orphaned(c, tikv); c.Want(tikv).Replicas = 3 })},
		{Name: "more are wanted", Cluster: with(func(c *plantest.Cluster) { orphaned(c, tikv); c.Want(tikv).Replicas = 6 })},
		{Name: "the last pod is gone, its data is not", Cluster: with(func(c *plantest.Cluster) {
			orphaned(c, tikv)
			c.Member("t-tikv-3").Pod = nil
		})},
		{Name: "the last pod is gone, and was removed", Cluster: with(func(c *plantest.Cluster) {
			orphaned(c, tikv)
			m := c.Member("t-tikv-3")
			m.Pod, m.Claims[0].Marked = nil, true
			m.Database.State = state.StoreTombstone
		})},
		{Name: "the last pod is going", Cluster: with(func(c *plantest.Cluster) {
			orphaned(c, tikv)
			m := c.Member("t-tikv-3")
			m.Pod.Terminating, m.Claims[0].Marked = true, true
			m.Database.State = state.StoreTombstone
			c.Want(tikv).Replicas = 3
		})},
		{Name: "founders of PD that have yet to meet", Cluster: with(func(c *plantest.Cluster) {
			orphaned(c, pd)
			c.Seen.PD = state.PD{Problem: "PD does not answer"}
			for _, name := range []string{"t-pd-1", "t-pd-2"} {
				m := c.Member(name)
				m.Pod, m.Claims = nil, nil
			}
		})},
		{Name: "paused", Cluster: with(func(c *plantest.Cluster) { orphaned(c, tikv); c.Wanted.Cluster.Paused = true })},
	})
}

// TestVolumeLeft: the gate of a volume that grows has a number, from which progress and the
// remaining time are computed.
func TestVolumeLeft(t *testing.T) {
	c := with(grown, func(c *plantest.Cluster) { c.Member("t-tikv-1").Claims[0].Capacity = 12 * gi })
	gates := c.Decide().Gates
	if want := (plan.Quantity{Number: int64(8 * gi), Unit: plan.Bytes}); len(gates) != 1 || gates[0].Left != want {
		t.Errorf("got %+v, want %+v", gates, want)
	}
}
