package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestPlanDeadline: the next time at which the decision changes although nothing else does.
func TestPlanDeadline(t *testing.T) {
	soon, later := plantest.Now.Add(time.Minute), plantest.Now.Add(time.Hour)
	for name, c := range map[string]struct {
		gates []plan.Gate
		want  time.Time
	}{
		"no gates":              {nil, time.Time{}},
		"none ends by itself":   {[]plan.Gate{{}, {}}, time.Time{}},
		"one does":              {[]plan.Gate{{}, {Deadline: later}, {}}, later},
		"the first comes first": {[]plan.Gate{{Deadline: soon}, {Deadline: later}}, soon},
		"the last comes first":  {[]plan.Gate{{Deadline: later}, {}, {Deadline: soon}}, soon},
		"one has passed":        {[]plan.Gate{{Deadline: soon, Blocked: true}, {Deadline: later}}, later},
	} {
		if got := (plan.Plan{Gates: c.gates}).Deadline(); !got.Equal(c.want) {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// TestPlanMustBeLive: a plan that takes something away, or evicts leaders, is decided again just before that.
func TestPlanMustBeLive(t *testing.T) {
	calm, disruptive := step.AllowLeaders{Member: "t-tikv-0"}, step.DeletePod{Member: "t-tikv-0"}
	for name, c := range map[string]struct {
		steps []step.Step
		want  bool
	}{
		"no steps":          {nil, false},
		"a calm one":        {[]step.Step{calm}, false},
		"a disruptive one":  {[]step.Step{disruptive}, true},
		"it comes last":     {[]step.Step{calm, disruptive}, true},
		"two that are calm": {[]step.Step{calm, calm}, false},
		"an eviction":       {[]step.Step{step.EvictLeaders{Member: "t-tikv-0"}, calm}, true},
	} {
		if got := (plan.Plan{Steps: c.steps}).MustBeLive(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestPlanPolls: changes in the database must be polled, since only Kubernetes reports changes.
func TestPlanPolls(t *testing.T) {
	for name, c := range map[string]struct {
		gates []plan.Gate
		want  bool
	}{
		"no gates":              {nil, false},
		"Kubernetes reports it": {[]plan.Gate{{}}, false},
		"one has to be asked":   {[]plan.Gate{{}, {Source: plan.FromDatabase}}, true},
	} {
		if got := (plan.Plan{Gates: c.gates}).Polls(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestGateOfClaim: a gate about a claim names it. A member can have several, and the wait for the
// second one begins when the first one is gone.
func TestGateOfClaim(t *testing.T) {
	for name, change := range map[string]func(m *state.Member){
		"it is being deleted":        func(m *state.Member) { m.Claims[0].Terminating = true },
		"its owner is unknown":       func(m *state.Member) { m.Database = state.Database{} },
		"PD does not know its owner": func(*state.Member) {},
	} {
		c := plantest.New(3, 3, 2)
		c.Want(tikv).Replicas = 4
		m := c.Add(tikv)
		m.Database = state.Database{Presence: state.Absent}
		change(m)
		gates := c.Decide().Gates
		if len(gates) != 1 || gates[0].Key().Object != "tikv-t-tikv-3" {
			t.Errorf("%s: %+v", name, gates)
		}
	}
}

// TestUnblock: a blocked gate says what a person can do.
func TestUnblock(t *testing.T) {
	leftOver := plantest.New(3, 3, 2)
	leftOver.Want(tikv).Replicas = 4
	leftOver.Add(tikv).Database = state.Database{Presence: state.Absent}
	deleting := plantest.New(3, 3, 2)
	deleting.Wanted.Cluster.Deleting = true
	removed := plantest.New(3, 4, 2).Down(time.Hour, "t-tikv-1").Set(tikv, func(s *state.Set) { s.Ordered, s.Replicas = true, 3 })
	removed.Want(tikv).Replicas, removed.Member("t-tikv-3").Claims[0].Marked = 3, true
	unasked := plantest.New(3, 3, 2)
	unasked.Member("t-tidb-1").Database = state.Database{}
	single := plantest.New(1, 3, 1)
	single.Member("t-pd-0").Claims[0].Terminating = true
	noSuccessor := plantest.New(2, 3, 1) // PD has members in another Kubernetes cluster
	noSuccessor.Want(pd).Replicas, noSuccessor.Seen.PD.Members, noSuccessor.Seen.PD.Healthy, noSuccessor.Seen.PD.Leader = 0, 5, 5, "t-pd-1"
	noSuccessor.Member("t-pd-0").Database.Leader, noSuccessor.Member("t-pd-1").Database.Leader = false, true
	for name, c := range map[string]struct {
		cluster *plantest.Cluster
		want    string
	}{
		"a single PD whose claim is going": {single, "to replace it, scale PD out first"},
		"a leader without a successor":     {noSuccessor, "bring another member up first; or scale PD out"},
		"a claim without an owner":         {leftOver, "look at it, then delete it: kubectl delete pvc tikv-t-tikv-3 --wait=false -n ns"},
		"a cluster that goes":              {deleting, "wait until it is gone, then create it again"},
		"leaders that cannot leave":        {plantest.New(3, 4, 2).Roll(tikv).Evicting("t-tikv-3", 0, 5), "see where leaders cannot go: every region needs a replica on another store that is up"},
		"a pod that is not ready":          {plantest.New(3, 4, 2).Down(time.Hour, "t-tikv-3"), "kubectl describe pod t-tikv-3"},
		"a server that is not asked":       {unasked, "kubectl logs t-tidb-1"},
		"a pod that is not deleted":        {removed, "kubectl delete pod t-tikv-3"},
		"a pod of the user's":              {plantest.New(3, 4, 2).Roll(tidb).Set(tidb, func(s *state.Set) { s.Manual = true }), "restart it as a rollout does: kubectl tidb restart t t-tidb-1"},
		"and how to have all restarted": {plantest.New(3, 4, 2).Roll(tidb).Set(tidb, func(s *state.Set) { s.Manual = true }),
			`; or have all of them restarted, with the checks of a rollout: kubectl annotate statefulset t-tidb kubectl-tidb/restarts-in-batches=true -n ns && kubectl tidb sync t -n ns`},
		"a stuck pod of the user's": {plantest.New(3, 4, 2).Roll(tidb).Down(time.Minute, "t-tidb-0").Set(tidb, func(s *state.Set) { s.Manual = true }), "kubectl delete pod t-tidb-0"},
	} {
		var got []string
		for _, g := range c.cluster.Decide().Gates {
			got = append(got, g.Remedy.Line(""))
		}
		if !strings.Contains(strings.Join(got, "\n"), c.want) {
			t.Errorf("%s: want %q in %q", name, c.want, got)
		}
	}
}

// TestSurvivors: decisions in which mutants of this package differed and that no other test
// covered.
func TestSurvivors(t *testing.T) {
	strays := plantest.New(3, 4, 2).Set(tikv, func(s *state.Set) { s.Exists = false })
	strays.Want(tikv).Replicas, strays.Want(tikv).Set.Drift = 3, desired.Missing
	strays.Want(tikv).Services[0].Drift = desired.Missing
	service := plantest.New(3, 4, 2)
	service.Want(tikv).Services[0].Drift = desired.Missing
	tombstone := plantest.New(3, 5, 2).Roll(tikv).Down(time.Minute, "t-tikv-3")
	tombstone.Member("t-tikv-4").Pod = nil
	tombstone.Member("t-tikv-4").Database.State = state.StoreTombstone
	tombstone.Member("t-tikv-4").Database.Healthy = false
	founded := plantest.New(3, 0, 0)
	founded.Seen.PD = state.PD{Problem: "PD has no leader", Leaderless: true, ClusterID: 7}
	for _, name := range []string{"t-pd-0", "t-pd-1", "t-pd-2"} {
		m := founded.Member(name)
		m.Database, m.Pod.Started, m.Pod.Since = state.Database{}, plantest.Now.Add(-time.Minute), plantest.Now.Add(-time.Minute)
	}
	founded.Member("t-pd-2").Pod.Revision = "v0"
	deleted := plantest.New(3, 4, 2).Set(tikv, func(s *state.Set) { s.Exists = false }).Roll(tidb).Down(time.Minute, "t-tidb-1")
	deleted.Want(tikv).Set.Drift = desired.Missing
	answered := plantest.New(3, 3, 0).PDUnknown()
	answered.Member("t-pd-1").Database = state.Database{Presence: state.Present, Problem: "its disk is full"}
	plantest.Table(t, "survivors", []plantest.Case{
		{Name: "one of two stores is restarted", Cluster: plantest.New(3, 2, 1).Roll(tikv)},
		{Name: "PD does not answer, but a member says why", Cluster: answered},
		{Name: "TiKV has no StatefulSet, a TiDB is stuck", Cluster: deleted},
		{Name: "PD has pods to replace, TiKV has converged, a TiDB is down", Cluster: plantest.New(3, 4, 2).Roll(pd).Roll(tidb).Down(time.Minute, "t-tidb-1")},
		{Name: "a service is missing", Cluster: service},
		{Name: "pods without a StatefulSet, and a service is missing", Cluster: strays},
		{Name: "a store below a tombstone without a pod is stuck", Cluster: tombstone},
		{Name: "a PD pod of neither revision, without a quorum", Cluster: founded},
	})
}
