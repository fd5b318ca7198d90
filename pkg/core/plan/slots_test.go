package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// withSlots is a cluster whose StatefulSets can have slots.
func withSlots(pd, tikv, tidb int) *plantest.Cluster {
	c := plantest.New(pd, tikv, tidb)
	c.Wanted.Cluster.Advanced = true
	return c
}

// leftOut takes the pod of a member away, and leaves a gap in the ordinals of the StatefulSet.
func leftOut(c *plantest.Cluster, k topology.Kind, n int) *state.Member {
	m := c.Member(c.Wanted.Cluster.PodName(k, n))
	m.Pod = nil
	c.Set(k, func(s *state.Set) { s.Replicas--; s.Slots = append(s.Slots, n) })
	return m
}

func resizeOf(p plan.Plan, k topology.Kind) (step.Resize, bool) {
	i := slices.IndexFunc(p.Steps, func(s step.Step) bool {
		r, is := s.(step.Resize)
		return is && r.Component == k
	})
	if i < 0 {
		return step.Resize{}, false
	}
	return p.Steps[i].(step.Resize), true
}

// Stores leave in another order than from the highest ordinal down, because the user has asked for other slots since.
// No more are offline at the same time than the user allows.
func TestSlotsLeaveAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		most    int
		offline []string
		leaves  bool
	}{
		"two of two are offline":    {2, []string{"t-tikv-0", "t-tikv-4"}, false},
		"one of two is offline":     {2, []string{"t-tikv-0"}, true},
		"two of three are offline":  {3, []string{"t-tikv-0", "t-tikv-4"}, true},
		"the only one is offline":   {1, []string{"t-tikv-0"}, false},
		"none of one is offline":    {1, nil, true},
		"none of three are offline": {3, nil, true},
	} {
		cluster := withSlots(3, 6, 2)
		g := cluster.Want(topology.TiKV)
		g.Replicas, g.Slots, g.ScaleIn = 3, []int{0}, c.most
		for _, store := range c.offline {
			cluster.Removing(store, time.Minute)
		}
		leaves := slices.ContainsFunc(cluster.Decide().Steps, func(s step.Step) bool { return strings.HasSuffix(s.String(), "t-tikv-5") })
		if leaves != c.leaves {
			t.Errorf("%s: t-tikv-5 begins to leave: %t\n%s", name, leaves, cluster.Text())
		}
	}
}

// PD has removed a member that the user does not want any more. The member never serves again, and a member that is to
// be added waits for all. So the removed member leaves the StatefulSet before the members above it.
func TestSlotsOfRemovedMembersFirst(t *testing.T) {
	for _, advanced := range []bool{true, false} {
		c := plantest.New(5, 3, 2)
		c.Wanted.Cluster.Advanced = advanced
		leftOut(c, topology.PD, 1).Claims = nil
		c.Member("t-pd-1").Database = state.Database{Presence: state.Absent}
		removed := c.Member("t-pd-3")
		removed.Database, removed.Pod.Ready = state.Database{Presence: state.Absent}, false
		for i := range removed.Claims {
			removed.Claims[i].Marked = true
		}
		c.Seen.PD.Members, c.Seen.PD.Healthy = 3, 3
		c.Want(topology.PD).Replicas = 3
		s, found := resizeOf(c.Decide(), topology.PD)
		if advanced != found || found && (s.To != 3 || !slices.Equal(s.SlotsTo, []int{1, 3})) {
			t.Errorf("advanced %t: %+v\n%s", advanced, s, c.Text())
		}
	}
}

// Somebody has taken the pod of a store away whose ordinal is in a slot. Where PD counts on the store and its data is
// there, the store comes back, wanted or not.
func TestSlotWhosePodWasTakenAway(t *testing.T) {
	for name, change := range map[string]func(*state.Member) bool{
		"with its data":     func(*state.Member) bool { return true },
		"its claim is gone": func(m *state.Member) bool { m.Claims = nil; return false },
		"PD has removed it": func(m *state.Member) bool { m.Database = state.Database{Presence: state.Absent}; return false },
		"its claim is marked": func(m *state.Member) bool {
			m.Claims[0].Marked = true
			return false
		},
		"its claim is marked, and PD has gone on to count on the store": func(m *state.Member) bool {
			m.Claims[0].Marked, m.NotServing = true, plantest.Now.Add(-2*time.Minute)
			return true
		},
		"the same, and its claim is being deleted": func(m *state.Member) bool {
			m.Claims[0].Marked, m.Claims[0].Terminating, m.NotServing = true, true, plantest.Now.Add(-2*time.Minute)
			return false
		},
	} {
		c := withSlots(3, 5, 2)
		m := leftOut(c, topology.TiKV, 1)
		m.Database.Healthy, m.Database.State = false, state.StoreDown
		c.Want(topology.TiKV).Replicas, c.Want(topology.TiKV).Slots = 4, []int{1}
		back := change(m)
		if s, found := resizeOf(c.Decide(), topology.TiKV); found != back || found && len(s.SlotsTo) > 0 {
			t.Errorf("%s: comes back %t, %v\n%s", name, found, s, c.Text())
		}
	}
}

// The user has another member in the place of one that is lost. PD removes the lost member first, because a member that
// joins waits until all voters serve.
func TestSlotOfALostVoter(t *testing.T) {
	c := withSlots(3, 3, 2).Down(time.Hour, "t-pd-1")
	c.Want(topology.PD).Slots = []int{1}
	lost := c.Member("t-pd-1")
	for _, want := range []string{"mark pd-t-pd-1 as left over", "remove PD member t-pd-1", "scale PD from 3 to 2", "scale PD from 2 to 3"} {
		p := c.Decide()
		if len(p.Steps) != 1 || p.Steps[0].String() != want {
			t.Fatalf("want %q:\n%s", want, plantest.Text(p))
		}
		switch p.Steps[0].(type) {
		case step.MarkClaims:
			lost.Claims[0].Marked = true
		case step.RemoveMember:
			lost.Database = state.Database{Presence: state.Absent}
			c.Seen.PD.Members, c.Seen.PD.Healthy = 2, 2
		case step.Resize:
			leftOut(c, topology.PD, 1)
		}
	}
}

// The same where all members are exchanged, so that none of those that there are is to stay.
func TestSlotsOfALostVoterAndAllOthers(t *testing.T) {
	c := withSlots(3, 3, 2).Down(time.Hour, "t-pd-1")
	c.Want(topology.PD).Slots = []int{0, 1, 2}
	if p := c.Decide(); len(p.Steps) != 1 || p.Steps[0].String() != "mark pd-t-pd-1 as left over" {
		t.Error(plantest.Text(p))
	}
}

// PD has no leader although all pods have had time to start, so that PD counts on a member that is elsewhere. A member
// in a slot comes back then, also where its removal had begun: its claims are marked before PD is asked.
func TestSlotOfAVoterThatPDNeeds(t *testing.T) {
	for name, change := range map[string]func(*plantest.Cluster, *state.Member) bool{
		"its removal had begun": func(*plantest.Cluster, *state.Member) bool { return true },
		"its claim is being deleted": func(_ *plantest.Cluster, m *state.Member) bool {
			m.Claims[0].Terminating = true
			return false
		},
		"pods above it would wait for it": func(c *plantest.Cluster, _ *state.Member) bool {
			c.Set(topology.PD, func(s *state.Set) { s.Ordered = true })
			return false
		},
		"no pod is above it that would wait for it": func(c *plantest.Cluster, _ *state.Member) bool {
			c.Member("t-pd-2").Pod, c.Member("t-pd-2").Claims = nil, nil
			c.Set(topology.PD, func(s *state.Set) { s.Ordered, s.Replicas = true, 1 })
			return true
		},
		"PD has a leader": func(c *plantest.Cluster, _ *state.Member) bool { c.Seen.PD.Leaderless = false; return false },
	} {
		c := withSlots(3, 3, 2)
		for i := range c.Seen.Groups[topology.PD].Members {
			c.Seen.Groups[topology.PD].Members[i].Pod.Started = plantest.Now.Add(-time.Hour)
		}
		m := leftOut(c, topology.PD, 1)
		m.Claims[0].Marked = true
		c.Want(topology.PD).Replicas, c.Want(topology.PD).Slots = 2, []int{1}
		c.PDUnknown().Seen.PD.Leaderless = true
		back := change(c, m)
		if s, found := resizeOf(c.Decide(), topology.PD); found != back || found && len(s.SlotsTo) > 0 {
			t.Errorf("%s: comes back %t, %v\n%s", name, found, s, c.Text())
		}
	}
}

// With OrderedReady a voter in a slot does not come back below others, because pods above it would wait for it if PD has
// removed it. Where PD has no leader, a gate says how all pods are made at once.
func TestSlotOfAVoterBelowOthers(t *testing.T) {
	for name, change := range map[string]func(*plantest.Cluster, *state.Member) bool{
		"PD may need it": func(*plantest.Cluster, *state.Member) bool { return true },
		"its claim is being deleted": func(_ *plantest.Cluster, m *state.Member) bool {
			m.Claims[0].Terminating = true
			return false
		},
		"the others have just started": func(c *plantest.Cluster, _ *state.Member) bool {
			c.Member("t-pd-2").Pod.Started = plantest.Now.Add(-time.Minute)
			return false
		},
	} {
		c := withSlots(3, 3, 2)
		for i := range c.Seen.Groups[topology.PD].Members {
			o := &c.Seen.Groups[topology.PD].Members[i]
			o.Pod.Started, o.NotServing = plantest.Now.Add(-time.Hour), plantest.Now.Add(-time.Hour)
		}
		m := leftOut(c, topology.PD, 1)
		m.Claims[0].Marked = true
		c.Set(topology.PD, func(s *state.Set) { s.Ordered = true })
		c.Want(topology.PD).Replicas, c.Want(topology.PD).Slots = 2, []int{1}
		c.PDUnknown().Seen.PD.Leaderless = true
		advises := change(c, m)
		helps := func(g plan.Gate) bool { return strings.Contains(g.Remedy.Line(""), "if it needs t-pd-1") }
		if p := c.Decide(); slices.ContainsFunc(p.Gates, helps) != advises {
			t.Errorf("%s: a gate says that, want %t:\n%s", name, advises, plantest.Text(p))
		}
	}
}

// A suspended cluster comes back, and the user has asked for other slots in the meantime. Members that PD has removed do
// not come back with the member that has the data, which may wait for them for ever.
func TestSlotsAfterASuspension(t *testing.T) {
	for name, c := range map[string]struct {
		slots []int // that the user asks for now
		want  topology.Ordinals
	}{
		"as before":          {[]int{0, 1}, topology.Ordinals{Count: 1, Slots: []int{0, 1}}},
		"none":               {nil, topology.Ordinals{Count: 1, Slots: []int{0, 1}}},
		"that of the member": {[]int{2}, topology.Ordinals{Count: 1, Slots: []int{0, 1}}},
	} {
		cluster := withSlots(3, 3, 2)
		cluster.PDUnknown().Seen.PD.ClusterID = 7
		group := cluster.Seen.Groups[topology.PD]
		group.Set = state.Set{}
		for i := range group.Members {
			m := &group.Members[i]
			m.Pod, m.Database, m.Claims[0].Marked = nil, state.Database{}, i < 2
		}
		cluster.Seen.Groups[topology.PD] = group
		want := cluster.Want(topology.PD)
		want.Replicas, want.Slots, want.Set.Drift = 1, c.slots, desired.Missing
		i := slices.IndexFunc(cluster.Decide().Steps, func(s step.Step) bool {
			made, is := s.(step.Apply)
			return is && made.Component == topology.PD && (topology.Ordinals{Count: made.Replicas, Slots: made.Slots}).Same(c.want)
		})
		if i < 0 {
			t.Errorf("%s:\n%s", name, cluster.Text())
		}
	}
}

// PD has one member, in whose place another ordinal is to come back that was to get new volumes. A rollout comes after
// the removal of a member, and PD's leader leaves only when another member has joined. So the other member does not
// wait for new claim templates, which wait for the rollout.
func TestSlotsBeforeClaimTemplates(t *testing.T) {
	for name, change := range map[string]func(*plantest.Cluster){
		"a rollout is under way":   func(c *plantest.Cluster) { c.Roll(topology.PD) },
		"a template is to be made": func(c *plantest.Cluster) { c.Want(topology.PD).Set.Drift = desired.Differs },
	} {
		c := withSlots(2, 3, 2)
		c.Volumes(topology.PD, 10<<30, 10<<30)
		left := leftOut(c, topology.PD, 0)
		left.Database, left.Claims[0].Marked = state.Database{Presence: state.Absent}, true
		for i := range c.Seen.Groups[topology.PD].Members {
			c.Seen.Groups[topology.PD].Members[i].Database.Leader = i == 1
		}
		c.Seen.PD.Members, c.Seen.PD.Healthy, c.Seen.PD.Leader = 1, 1, "t-pd-1"
		g := c.Want(topology.PD)
		g.Replicas, g.Slots = 1, nil
		g.Volumes[0].Class = "other"
		g.Replacements = map[string]topology.MemberReplacement{"t-pd-0": {Claims: []string{left.Claims[0].UID}}}
		change(c)
		p := c.Decide()
		goesOn := func(s step.Step) bool { return s.Action() == "RecreateSet" || s.Action() == "DeleteClaim" }
		if !slices.ContainsFunc(p.Steps, goesOn) {
			t.Errorf("%s: %s", name, plantest.Text(p))
		}
	}
}

// PD has no leader, because Kubernetes makes the pod of a member only after another one is ready. That one never is: PD
// has removed it, or the user does not want it any more, and it waits for a quorum to join. A gate says what a person
// can do.
func TestSlotsOrderedReadyWithoutLeader(t *testing.T) {
	for name, held := range map[string]struct {
		members int
		marked  bool
	}{
		"a member that PD has removed":       {3, true},
		"a member that has yet to join":      {4, false},
		"the same, and one more is to leave": {5, false},
	} {
		c := withSlots(held.members, 3, 2)
		c.Set(topology.PD, func(s *state.Set) { s.Ordered = true })
		g := c.Want(topology.PD)
		g.Replicas = 1
		for i := range held.members {
			m := c.Member(c.Wanted.Cluster.PodName(topology.PD, i))
			m.Database = state.Database{}
			switch {
			case i == 1:
				m.Pod.Ready, m.Pod.Since, m.Claims[0].Marked = false, plantest.Now.Add(-time.Hour), held.marked
			case i > 1:
				m.Pod, m.Gone = nil, plantest.Now.Add(-time.Hour)
			}
			if i < held.members-1 {
				g.Slots = append(g.Slots, i)
			}
		}
		c.Seen.PD = state.PD{ClusterID: 7, Problem: "PD has no leader"}
		helps := func(g plan.Gate) bool { return strings.Contains(g.Remedy.Line(""), `"podManagementPolicy":"Parallel"`) }
		if p := c.Decide(); !slices.ContainsFunc(p.Gates, helps) {
			t.Errorf("%s: no gate offers it:\n%s", name, plantest.Text(p))
		}
	}
}

// PD was never started, and the user asks for a member below the initial ones. With OrderedReady its pod would come first,
// and would wait for the initial members, whose pods Kubernetes makes after it.
func TestSlotsBelowInitialMembers(t *testing.T) {
	for ordered, adds := range map[bool]bool{true: false, false: true} {
		c := withSlots(4, 3, 2)
		c.Set(topology.PD, func(s *state.Set) { s.Ordered = ordered })
		left := leftOut(c, topology.PD, 0)
		left.Claims = nil
		for i := range c.Seen.Groups[topology.PD].Members {
			m := &c.Seen.Groups[topology.PD].Members[i]
			m.Pod, m.Database = nil, state.Database{}
		}
		c.Seen.PD = state.PD{Problem: "no PD pod is running"}
		c.Want(topology.PD).Replicas, c.Want(topology.PD).Slots = 4, nil
		p := c.Decide()
		if _, added := resizeOf(p, topology.PD); added != adds {
			t.Errorf("OrderedReady %t: the member is added: %t, want %t\n%s", ordered, added, adds, plantest.Text(p))
		}
	}
}
