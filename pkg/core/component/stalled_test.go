package component_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

const (
	limitZero = "PD moves no leaders, since its leader-schedule-limit is 0"
	haltedPD  = "PD moves no leaders, since its scheduling is halted (halt-scheduling)"
	importing = "the region label import/1 (schedule=deny) keeps leaders where they are, as an import with TiDB Lightning or IMPORT INTO asks for"
	pausedOne = "PD's evict-leader scheduler is paused for a time"
	noBatch   = "PD's evict-leader scheduler, which another user or tool made, moves no leaders (batch 0), as one from before an upgrade to v8.5.0, v8.5.1 or v8.5.2 does; its stores are 2"
)

// TestPDEvictsNoLeaders: where PD shows that it would accept an eviction and not carry it out, no scheduler is made.
// What only a person ends blocks at once and names the cause; an import is waited for.
func TestPDEvictsNoLeaders(t *testing.T) {
	for name, tc := range map[string]struct {
		pd     state.Scheduling
		policy plan.Eviction
		want   string
	}{
		"limit 0":           {pd: state.Scheduling{NoLeaders: true}, want: "blocked\n! t-tikv-2: leaders not evicted: " + limitZero},
		"halted":            {pd: state.Scheduling{Halted: true}, want: "blocked\n! t-tikv-2: leaders not evicted: " + haltedPD},
		"batch 0 of others": {pd: state.Scheduling{NoBatch: true, Evicting: []uint64{2}}, want: "blocked\n! t-tikv-2: leaders not evicted: " + noBatch},
		"an import":         {pd: state.Scheduling{Denied: []string{"import/1"}}, want: "wait\n? t-tikv-2: leaders not evicted: 10 leaders left; " + importing},
		"paused":            {pd: state.Scheduling{EvictionPaused: true, Evicting: []uint64{2}}, want: "wait\n? t-tikv-2: leaders not evicted: 10 leaders left; " + pausedOne},
		"limit 0, fail":     {state.Scheduling{NoLeaders: true}, plan.Eviction{OnTimeout: plan.Fail}, "blocked\n! t-tikv-2: leaders not evicted: " + limitZero},
		"limit 0, proceed":  {state.Scheduling{NoLeaders: true}, plan.Eviction{OnTimeout: plan.Proceed}, "act\nevict region leaders from t-tikv-2\n? t-tikv-2: leaders not evicted: 10 leaders left; " + limitZero},
		"limit 0, wait":     {state.Scheduling{NoLeaders: true}, plan.Eviction{OnTimeout: plan.Persist}, "act\nevict region leaders from t-tikv-2\n? t-tikv-2: leaders not evicted: 10 leaders left; " + limitZero},
		"an import, fail":   {state.Scheduling{Denied: []string{"import/1"}}, plan.Eviction{OnTimeout: plan.Fail}, "wait\n? t-tikv-2: leaders not evicted: 10 leaders left; " + importing},
		"the run has PD move some at a time": {state.Scheduling{NoLeaders: true}, plan.Eviction{MaxMoves: 2},
			"act\nhave PD move at most 2 region leaders at a time\nevict region leaders from t-tikv-2\n? t-tikv-2: leaders not evicted: 10 leaders left"},
		"no regions move, which is not needed": {pd: state.Scheduling{NoReplicas: true, KeepsOffline: true, NoRemoving: []uint64{3}},
			want: "act\nevict region leaders from t-tikv-2\n? t-tikv-2: leaders not evicted: 10 leaders left"},
	} {
		c := plantest.New(3, 3, 2).Roll(topology.TiKV)
		c.Seen.PD.Scheduling, c.Policy.Eviction = tc.pd, tc.policy
		if got := plantest.Text(c.Decide()); got != tc.want {
			t.Errorf("%s: got:\n%s\nwant:\n%s", name, got, tc.want)
		}
	}
}

// TestNotRestartedWithLeadersThatPDKeeps: a setting of PD keeps leaders on a store. When the time for an eviction is
// over, the store is not restarted with its leaders, unless a person has asked for that. The step then names the
// setting.
func TestNotRestartedWithLeadersThatPDKeeps(t *testing.T) {
	for name, tc := range map[string]struct {
		pd     state.Scheduling
		policy plan.Eviction
		want   string
	}{
		"limit 0":   {pd: state.Scheduling{NoLeaders: true}, want: "blocked\n! t-tikv-2: leaders not evicted: " + limitZero},
		"an import": {pd: state.Scheduling{Denied: []string{"import/1"}}, want: "blocked\n! t-tikv-2: leaders not evicted: 6 leaders left; " + importing + " after 1h0m0s"},
		"limit 0, proceed": {state.Scheduling{NoLeaders: true}, plan.Eviction{OnTimeout: plan.Proceed},
			"act\nrestart t-tikv-2 without: leaders evicted (6 leaders left; " + limitZero + " after 1h0m0s)"},
		"nothing": {want: "act\nrestart t-tikv-2 without: leaders evicted (6 leaders left after 1h0m0s)"},
	} {
		c := plantest.New(3, 3, 2).Roll(topology.TiKV).Evicting("t-tikv-2", 61*time.Minute, 6)
		c.Seen.PD.Scheduling, c.Policy.Eviction = tc.pd, tc.policy
		if got := plantest.Text(c.Decide()); got != tc.want {
			t.Errorf("%s: got:\n%s\nwant:\n%s", name, got, tc.want)
		}
	}
}

// TestOwnSchedulerMovesNoLeaders: where all stores of the scheduler are there because of us, the step has it move
// leaders again.
func TestOwnSchedulerMovesNoLeaders(t *testing.T) {
	c := plantest.New(3, 3, 2).Roll(topology.TiKV).Evicting("t-tikv-2", time.Minute, 6)
	c.Seen.PD.Scheduling = state.Scheduling{NoBatch: true, Evicting: []uint64{3}}
	want := "act\nevict region leaders from t-tikv-2\n? t-tikv-2: leaders not evicted: 6 leaders left"
	if got := plantest.Text(c.Decide()); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestNoLeadersToEvict: a store without leaders, and one whose leaders can go nowhere, needs nothing of PD.
func TestNoLeadersToEvict(t *testing.T) {
	c := plantest.New(3, 3, 2).Roll(topology.TiKV).Evicting("t-tikv-2", time.Minute, 0)
	c.Seen.PD.Scheduling.NoLeaders = true
	if got := plantest.Text(c.Decide()); got != "act\nrestart t-tikv-2" {
		t.Error(got)
	}
	one := plantest.New(3, 1, 2).Roll(topology.TiKV)
	one.Seen.PD.Scheduling.NoLeaders, one.Seen.PD.MaxReplicas = true, 1
	if got := plantest.Text(one.Decide()); got != "act\nrestart t-tikv-0 without: leaders evicted (there is no other store)" {
		t.Error(got)
	}
}

// TestPDMovesNoRegions: no store is taken offline while PD shows that none of its regions would leave it. One that is
// offline already names the cause.
func TestPDMovesNoRegions(t *testing.T) {
	stores := []state.Store{{ID: 1, State: state.StoreUp}, {ID: 2, State: state.StoreUp}, {ID: 3, State: state.StoreUp}, {ID: 4, State: state.StoreUp}}
	for name, tc := range map[string]struct {
		pd       state.Scheduling
		rulesOff bool
		cause    string // "" where the removal goes on
	}{
		"limit 0":                     {pd: state.Scheduling{NoReplicas: true}, cause: "PD moves no regions, since its replica-schedule-limit is 0"},
		"halted":                      {pd: state.Scheduling{Halted: true}, cause: "PD moves no regions, since its scheduling is halted (halt-scheduling)"},
		"offline stores keep regions": {pd: state.Scheduling{KeepsOffline: true}, rulesOff: true, cause: "PD leaves regions on stores that are offline, since its enable-replace-offline-replica is false"},
		"which rules do not ask for":  {pd: state.Scheduling{KeepsOffline: true}},
		"it gives none away":          {pd: state.Scheduling{NoRemoving: []uint64{4}}, cause: "PD takes no regions off store 4, since its limit remove-peer is 0"},
		"another one does":            {pd: state.Scheduling{NoRemoving: []uint64{3}}},
		"no other takes one":          {pd: state.Scheduling{NoAdding: []uint64{1, 2, 3}}, cause: "PD puts no regions onto any other store, since the limits add-peer of the others are 0"},
		"one takes them":              {pd: state.Scheduling{NoAdding: []uint64{1, 2, 4}}},
		"an import":                   {pd: state.Scheduling{Denied: []string{"import/1"}}},
	} {
		c := plantest.New(3, 4, 2)
		c.Want(topology.TiKV).Replicas = 3
		c.Seen.PD.Scheduling, c.Seen.PD.RulesDisabled, c.Seen.PD.Placement.Stores = tc.pd, tc.rulesOff, stores
		want := "blocked\n! t-tikv-3: regions not moved away: " + tc.cause
		if got := plantest.Text(c.Decide()); tc.cause != "" && got != want || tc.cause == "" && !strings.HasPrefix(got, "act\n") {
			t.Errorf("%s, before: got:\n%s\nwant:\n%s", name, got, want)
		}
		c.Evicting("t-tikv-3", time.Minute, 0).Member("t-tikv-3").Database.State = state.StoreOffline
		c.Seen.Removals = []state.Removal{{StoreID: 4, Member: "t-tikv-3", Since: plantest.Now.Add(-time.Minute)}}
		want = "blocked\n! t-tikv-3: regions not moved away: 30 regions left; " + tc.cause
		if got := plantest.Text(c.Decide()); tc.cause != "" && got != want || tc.cause == "" && !strings.HasPrefix(got, "wait\n") {
			t.Errorf("%s, offline: got:\n%s\nwant:\n%s", name, got, want)
		}
	}
}

// TestRemovalDoesNotWaitForLeaders: before a removal leaders that PD does not evict are not waited for, since they move
// with their regions.
func TestRemovalDoesNotWaitForLeaders(t *testing.T) {
	c := plantest.New(3, 4, 2)
	c.Want(topology.TiKV).Replicas = 3
	c.Seen.PD.Scheduling.NoLeaders = true
	if got := plantest.Text(c.Decide()); !strings.HasPrefix(got, "act\ntake store 4 of t-tikv-3 offline") {
		t.Error(got)
	}
}

// TestWhatToDoAboutPD: the commands can be pasted.
func TestWhatToDoAboutPD(t *testing.T) {
	c := plantest.New(3, 3, 2).Roll(topology.TiKV)
	c.Want(topology.TiKV).EvictTimeout = nil
	c.Seen.PD.Scheduling.NoLeaders = true
	want := "have PD move leaders again, 4 at a time as by default: kubectl exec t-pd-0 -c pd -n ns -- /pd-ctl config set leader-schedule-limit 4; " +
		"or restart the store with them, if none leaves for ten minutes more: kubectl tidb sync t --on-evict-timeout=proceed -n ns"
	if got := c.Decide().Gates[0].Remedy.Line(""); got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	c.Seen.PD.Scheduling = state.Scheduling{Denied: []string{"import/1"}}
	if got := c.Decide().Gates[0].Remedy.Line(""); !strings.Contains(got, "--on-evict-timeout=wait") || !strings.Contains(got, "rule/import%2F1") {
		t.Error(got)
	}
}
