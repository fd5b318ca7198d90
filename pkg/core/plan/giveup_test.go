package plan_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestRetried: while a member is given up, its pod is recreated only in one case. Nothing but the
// pause after the last crash must keep the member from joining.
func TestRetried(t *testing.T) {
	for name, c := range map[string]struct {
		change func(m *state.Member)
		want   bool
	}{
		"waits out its last crash":      {func(*state.Member) {}, true},
		"made just long enough ago":     {func(m *state.Member) { m.Pod.Made = plantest.Now.Add(-30 * time.Second) }, true},
		"crashed once":                  {func(m *state.Member) { m.Pod.Restarts = 1 }, true},
		"made only now":                 {func(m *state.Member) { m.Pod.Made = plantest.Now.Add(-29 * time.Second) }, false},
		"has not crashed":               {func(m *state.Member) { m.Pod.Restarts = 0 }, false},
		"runs":                          {func(m *state.Member) { m.Pod.Started = plantest.Now.Add(-time.Second) }, false},
		"is ready and about to join":    {func(m *state.Member) { m.Pod.Ready = true }, false},
		"goes already":                  {func(m *state.Member) { m.Pod.Terminating = true }, false},
		"has no pod":                    {func(m *state.Member) { m.Pod = nil }, false},
		"has the data of its old self":  {func(m *state.Member) { m.Claims[0].Marked = true }, false},
		"PD does not speak of it":       {func(m *state.Member) { m.Database = state.Database{} }, false},
		"has registered as a new store": {func(m *state.Member) { m.Database = state.Database{Presence: state.Present, ID: 99} }, false},
	} {
		cluster := with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour, discarded)
			replacement(c, tikv)
		})
		m := cluster.Member("t-tikv-1")
		m.Database, m.Claims[0].UID = state.Database{Presence: state.Absent}, "new"
		m.Pod.Restarts, m.Pod.Made = 4, plantest.Now.Add(-10*time.Minute)
		c.change(m)
		got := false
		for _, s := range cluster.Decide().Steps {
			d, ok := s.(step.DeletePod)
			if got = got || ok && d.Again; ok && d != (step.DeletePod{Component: tikv, Member: "t-tikv-1", UID: m.Pod.UID, Again: true}) {
				t.Errorf("%s: %+v", name, d)
			}
		}
		if got != c.want {
			t.Errorf("%s: recreated %t, want %t\n%s", name, got, c.want, cluster.Text())
		}
	}
}

// TestRecords: the record of a member that is given up. By its ids and claims a later run
// distinguishes the lost member from one that came back.
func TestRecords(t *testing.T) {
	discard := func(names ...string) func(c *plantest.Cluster) {
		return func(c *plantest.Cluster) { c.Policy.Failover.Discard = names }
	}
	store := func(id uint64, name, claim string, discarded bool) []step.Step {
		return []step.Step{step.RecordFailure{Component: tikv, Member: name, ID: id, Claims: []string{claim}, Discarded: discarded}}
	}
	lostStore := func(c *plantest.Cluster) { lost(c, time.Hour, "t-tikv-1") }
	gave := func(c *plantest.Cluster) { given(c, "t-tikv-1", time.Hour); replacement(c, tikv) }
	for name, c := range map[string]struct {
		cluster *plantest.Cluster
		want    []step.Step
	}{
		"a PD member": {
			failing(func(c *plantest.Cluster) { lost(c, time.Hour, "t-pd-1") }),
			[]step.Step{step.RecordFailure{Component: pd, Member: "t-pd-1", ID: 102, Name: "t-pd-1", Claims: []string{"claim-pd-1"}}},
		},
		"a PD member's data goes in any case": {
			failing(func(c *plantest.Cluster) { lost(c, time.Hour, "t-pd-1") }, discard("t-pd-1")),
			[]step.Step{step.RecordFailure{Component: pd, Member: "t-pd-1", ID: 102, Name: "t-pd-1", Claims: []string{"claim-pd-1"}}},
		},
		"a store":                         {failing(lostStore), store(2, "t-tikv-1", "claim-tikv-1", false)},
		"a store and its data":            {failing(lostStore, discard("t-tikv-1")), store(2, "t-tikv-1", "claim-tikv-1", true)},
		"the data of another store":       {failing(lostStore, discard("t-tikv-2")), store(2, "t-tikv-1", "claim-tikv-1", false)},
		"two stores, one after the other": {failing(lostStore, func(c *plantest.Cluster) { lost(c, time.Hour, "t-tikv-2") }), store(2, "t-tikv-1", "claim-tikv-1", false)},
		"its data after all":              {failing(lostStore, gave, discard("t-tikv-1")), store(2, "t-tikv-1", "claim-tikv-1", true)},
		"its data, while PD does not speak of stores": {failing(lostStore, gave, discard("t-tikv-1"), func(c *plantest.Cluster) {
			c.Member("t-tikv-1").Database = state.Database{}
		}), nil},
		"its data, when PD has missed one heartbeat": {failing(lostStore, gave, discard("t-tikv-1"), func(c *plantest.Cluster) {
			m := c.Member("t-tikv-1")
			m.Pod.Ready, m.Pod.Started = true, plantest.Now.Add(-time.Minute)
		}), nil},
		"the data of a store that is back":            {failing(gave, discard("t-tikv-1")), nil},
		"its data, in a run that may not give up any": {with(lostStore, gave, discard("t-tikv-1")), nil},
		"its data, given up before": {failing(lostStore, func(c *plantest.Cluster) {
			given(c, "t-tikv-1", time.Hour, discarded)
			replacement(c, tikv)
		}, discard("t-tikv-1")), nil},
		"another one, while PD removes a discarded store": {failing(lostStore, func(c *plantest.Cluster) {
			given(c, "t-tikv-1", time.Hour, discarded)
			replacement(c, tikv)
			c.Member("t-tikv-1").Database.State = state.StoreOffline
			lost(c, time.Hour, "t-tikv-2")
		}), store(3, "t-tikv-2", "claim-tikv-2", false)},
		"another PD member, while PD removes one": {failing(func(c *plantest.Cluster) {
			c.Seen.PD.Members, c.Seen.PD.Healthy = 7, 7
			lost(c, time.Hour, "t-pd-1")
			given(c, "t-pd-1", time.Minute)
			lost(c, time.Hour, "t-pd-2")
		}), []step.Step{step.RemoveMember{Member: "t-pd-1", ID: 102, Down: true}}},
		"another PD member, after PD has removed one": {failing(func(c *plantest.Cluster) {
			c.Seen.PD.Members, c.Seen.PD.Healthy = 6, 6
			lost(c, time.Hour, "t-pd-1")
			given(c, "t-pd-1", time.Hour, deleted)
			m := c.Member("t-pd-1")
			m.Database, m.Claims = state.Database{Presence: state.Absent}, nil
			lost(c, time.Hour, "t-pd-2")
		}), []step.Step{step.RecordFailure{Component: pd, Member: "t-pd-2", ID: 103, Name: "t-pd-2", Claims: []string{"claim-pd-2"}}}},
		"due this very moment": {failing(func(c *plantest.Cluster) { lost(c, 35*time.Minute, "t-tikv-1") }), store(2, "t-tikv-1", "claim-tikv-1", false)},
		"of its component": {failing(lostStore, func(c *plantest.Cluster) {
			c.Policy.Failover.Only = []topology.Kind{tikv}
		}), store(2, "t-tikv-1", "claim-tikv-1", false)},
	} {
		var got []step.Step
		for _, s := range c.cluster.Decide().Steps {
			switch s.(type) {
			case step.RecordFailure, step.RemoveMember:
				got = append(got, s)
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v\n%s", name, got, c.want, c.cluster.Text())
		}
	}
}

// TestSpared: the reason why a member that is down is not given up, however long it is down.
func TestSpared(t *testing.T) {
	rolled := func(ordinals ...int) func(c *plantest.Cluster) {
		return func(c *plantest.Cluster) { c.Roll(tikv).Rolled(tikv, ordinals...) }
	}
	down := func(c *plantest.Cluster) { lost(c, time.Hour, "t-tikv-2") }
	fresh := func(ago time.Duration) func(c *plantest.Cluster) {
		return func(c *plantest.Cluster) {
			for i := range c.Seen.Groups[tikv].Members {
				c.Seen.Groups[tikv].Members[i].Pod.Started = plantest.Now.Add(-ago)
			}
		}
	}
	going := func(ago time.Duration) func(c *plantest.Cluster) {
		return func(c *plantest.Cluster) {
			p := c.Member("t-tikv-2").Pod
			p.Terminating, p.Since = true, plantest.Now.Add(-ago)
		}
	}
	for name, c := range map[string]struct {
		cluster *plantest.Cluster
		want    string
	}{
		"nothing speaks for it":                {with(down), ""},
		"switched off":                         {with(down, func(c *plantest.Cluster) { c.Want(tikv).MaxFailures = 0 }), "failover is switched off: maxFailoverCount is 0"},
		"one is left":                          {with(down, func(c *plantest.Cluster) { given(c, "t-tikv-0", time.Minute); given(c, "t-tikv-1", time.Minute) }), ""},
		"none is left":                         {with(down, func(c *plantest.Cluster) { c.Want(tikv).MaxFailures = 1; given(c, "t-tikv-0", time.Minute) }), "1 of 1 failovers are used up"},
		"not known to be down":                 {with(func(c *plantest.Cluster) { c.Member("t-tikv-2").Database = state.Database{} }), "it is not known whether it serves"},
		"is removed":                           {with(down, func(c *plantest.Cluster) { c.Member("t-tikv-2").Database.State = state.StoreTombstone }), "it is being removed"},
		"has the new template":                 {with(rolled(2, 3), down, fresh(time.Minute)), "its pod is of the revision that is being rolled out"},
		"has the new template, the last":       {with(rolled(0, 1, 2, 3), down, fresh(time.Minute)), "its pod is of the revision that is being rolled out"},
		"alone has the new template":           {with(rolled(2), down), "its pod is of the revision that is being rolled out"},
		"others serve with the new template":   {with(rolled(2, 3), down, fresh(2*time.Minute)), ""},
		"has the old template":                 {with(rolled(3), down), ""},
		"is being replaced":                    {with(rolled(3), down, going(time.Minute)), "its pod is being replaced"},
		"should have been replaced long since": {with(rolled(3), down, going(10*time.Minute)), ""},
		"goes, but nothing is rolled out":      {with(down, going(time.Minute)), ""},
		"has the old template, for a moment": {with(rolled(3), func(c *plantest.Cluster) {
			lost(c, time.Minute, "t-tikv-2")
		}), ""},
		"it is not known since when": {with(down, func(c *plantest.Cluster) {
			m := c.Member("t-tikv-2")
			m.Pod, m.Database.Since, m.NotServing, m.ReportedDown = nil, time.Time{}, time.Time{}, time.Time{}
		}), "only one of Kubernetes and the database says that it is down"},
	} {
		got := "not down"
		for _, k := range plan.LostMembers(component.Profiles(), c.cluster.Policy, c.cluster.Wanted, c.cluster.Seen) {
			if k.Member.Name == "t-tikv-2" {
				got = k.Spared
				if k.Due.IsZero() != k.Since.IsZero() {
					t.Errorf("%s: down since %s, due at %s", name, k.Since, k.Due)
				}
			}
		}
		if got != c.want {
			t.Errorf("%s: spared for %q, want %q", name, got, c.want)
		}
	}
}

// TestNoFailover: in a component without failover lost members are not given up.
func TestNoFailover(t *testing.T) {
	profiles := component.Profiles()
	for i := range profiles {
		profiles[i].Failover = nil
	}
	c := failing(func(c *plantest.Cluster) {
		lost(c, time.Hour, "t-tikv-1")
		given(c, "t-tikv-2", time.Hour)
		c.Policy.Failover.Now, c.Policy.Failover.Discard = true, []string{"t-tikv-1"}
	})
	got := plan.LostMembers(profiles, c.Policy, c.Wanted, c.Seen)
	if len(got) != 2 || !got[0].Due.IsZero() || got[0].Spared != "failover is switched off: maxFailoverCount is 0" {
		t.Errorf("%+v", got)
	}
	for _, s := range plan.Decide(profiles, c.Policy, c.Wanted, c.Seen).Steps {
		switch s.(type) {
		case step.RecordFailure, step.ForgetFailure, step.RetireFailure:
			t.Errorf("%s", s)
		}
	}
}

// TestGivenUpByMistake: a member of PD that was given up and has its vote again is not removed,
// whatever Kubernetes reports.
func TestGivenUpByMistake(t *testing.T) {
	c := failing(func(c *plantest.Cluster) {
		lost(c, time.Hour, "t-pd-1")
		given(c, "t-pd-1", time.Second)
		c.Member("t-pd-1").Database.Healthy = true
		c.Seen.PD.Healthy++
	})
	if got := c.Text(); !strings.Contains(got, "end the failover of t-pd-1") || strings.Contains(got, "remove PD member") {
		t.Error(got)
	}
}
