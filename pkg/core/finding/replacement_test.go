package finding_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// replaced has a user ask for new volumes of stores.
func replaced(names ...string) func(*sick) {
	return func(s *sick) {
		g := s.Want(topology.TiKV)
		g.Replacements = map[string]topology.MemberReplacement{}
		for _, n := range names {
			r := topology.MemberReplacement{At: plantest.Now.Add(-time.Hour)}
			for _, claim := range s.Member(n).Claims {
				r.Claims = append(r.Claims, claim.UID)
			}
			g.Replacements[n] = r
		}
	}
}

func replacementExamples() []example {
	one := replaced("t-tikv-1")
	done := func(s *sick) { s.Member("t-tikv-1").Claims[0].UID = "next" }
	pause := func(s *sick) { s.Wanted.Cluster.Paused = true }
	suspend := func(s *sick) { s.Want(topology.TiKV).Suspend = true }
	const id = "replacement-pending"
	return []example{
		{id, replaced("t-tikv-1", "t-tikv-0"), "asked to replace: t-tikv-0, 60m ago; t-tikv-1, 60m ago; no process drives the cluster", "", both(one, pdDriven)},
		{id, both(replaced("t-tikv-1", "t-tikv-0"), done), "asked to replace: t-tikv-0, 60m ago", "", both(one, done)},
		{id, one, "asked to replace: t-tikv-1", "", both(one, pause)},
		{id, one, "asked to replace: t-tikv-1", "", both(one, suspend)},
	}
}

// TestReplacementPending: both ways out of a replacement that nobody carries out can be pasted.
func TestReplacementPending(t *testing.T) {
	s := healthy()
	replaced("t-tikv-1")(s)
	got := with(s.find(), "replacement-pending")
	const want = "replace what was asked for: kubectl tidb sync t -n ns; or begin no further replacement: kubectl tidb replace t --cancel -n ns"
	if len(got) != 1 || got[0].Component != topology.TiKV || got[0].Remedy.Line("") != want {
		t.Errorf("%+v, want %q", got, want)
	}
}
