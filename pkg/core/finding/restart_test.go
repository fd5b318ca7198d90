package finding_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// named has a user name members of TiDB to be restarted.
func named(names ...string) func(*sick) {
	return func(s *sick) {
		g := s.Want(topology.TiDB)
		g.Restarts = map[string]topology.MemberRestart{}
		for _, n := range names {
			g.Restarts[n] = topology.MemberRestart{Pod: s.Member(n).Pod.UID, At: plantest.Now.Add(-time.Hour)}
		}
	}
}

func restartExamples() []example {
	one := named("t-tidb-1")
	ended := func(s *sick) { s.Member("t-tidb-1").Pod.UID = "next" }
	ends := func(s *sick) { s.Member("t-tidb-1").Pod.Terminating = true }
	pause := func(s *sick) { s.Wanted.Cluster.Paused = true }
	const id = "restart-pending"
	return []example{
		{id, named("t-tidb-1", "t-tidb-0"), "asked to restart: t-tidb-0, 60m ago; t-tidb-1, 60m ago; no process drives the cluster", "", both(one, pdDriven)},
		{id, both(named("t-tidb-1", "t-tidb-0"), ended), "asked to restart: t-tidb-0, 60m ago", "", both(one, ended)},
		{id, one, "asked to restart: t-tidb-1", "", both(one, ends)},
		{id, one, "asked to restart: t-tidb-1", "", both(one, pause)},
		{id, one, "asked to restart: t-tidb-1", "", both(named("t-tidb-0"), held)},
	}
}

// TestRestartPending: both ways out of a restart that nobody carries out can be pasted.
func TestRestartPending(t *testing.T) {
	s := healthy()
	named("t-tidb-1")(s)
	got := with(s.find(), "restart-pending")
	const want = "restart what was asked for: kubectl tidb sync t -n ns; or do not restart any of them: kubectl tidb restart t --cancel -n ns"
	if len(got) != 1 || got[0].Component != topology.TiDB || got[0].Remedy.Line("") != want {
		t.Errorf("%+v, want %q", got, want)
	}
}

// TestOutdatedOnDelete: no run restarts these members, so the command names them.
func TestOutdatedOnDelete(t *testing.T) {
	for _, paused := range []bool{false, true} {
		s := healthy()
		s.Roll(topology.TiDB).Set(topology.TiDB, func(set *state.Set) { set.Manual = true })
		s.Wanted.Cluster.Paused = paused
		want := "restart them one after another: kubectl tidb restart t t-tidb-0 t-tidb-1 -n ns"
		if paused {
			want = "end the pause, and restart them one after another: kubectl tidb resume t -n ns && kubectl tidb restart t t-tidb-0 t-tidb-1 -n ns"
		}
		if got := with(s.find(), "pods-outdated"); len(got) != 1 || got[0].Remedy.Line("") != want {
			t.Errorf("paused: %t: %+v, want %q", paused, got, want)
		}
	}
}
