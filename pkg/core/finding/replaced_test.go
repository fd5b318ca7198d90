package finding_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/finding"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// givenUp takes a member down, records its failover, and adds a further member that serves.
func givenUp(name string) func(*sick) {
	return func(s *sick) {
		m := s.Down(time.Hour, name).Member(name)
		k := m.Kind
		s.Want(k).Failures = []topology.Failure{{Member: name, ID: m.Database.ID, Created: plantest.Now.Add(-30 * time.Minute), Deleted: k == topology.PD}}
		switch k.Data() {
		case topology.Raft: // PD has removed the member, and the pod of the member waits for a host
			m.Database, m.Pod.Ran, m.Pod.Node, m.Pod.Problem = state.Database{Presence: state.Absent}, false, "", "Unschedulable: 0/3 nodes are available"
		case topology.Store:
			m.Database.State, m.Database.Regions = state.StoreDown, 0
			s.Seen.PD.Stores, s.Seen.PD.UpStores = s.Seen.PD.Stores+1, s.Seen.PD.UpStores+1
		}
		added := s.Add(k)
		added.Pod = &state.Pod{Ready: true, Revision: "v1", Ran: true, Since: plantest.Now.Add(-time.Minute), Started: plantest.Now.Add(-time.Minute)}
		added.Database.Healthy = true
		s.Set(k, func(set *state.Set) { set.Replicas++; set.Partition++ })
		if k == topology.PD {
			s.Seen.PD.Healthy++
		}
	}
}

// TestReplaced: a cluster has converged where a further member serves for each member that was given up. Then there is
// nothing but remarks, and each remark names the member.
func TestReplaced(t *testing.T) {
	for name, command := range map[string]string{
		"t-pd-2": "kubectl describe pod t-pd-2", "t-tidb-1": "kubectl describe pod t-tidb-1",
		"t-tikv-1": "if it never comes back: kubectl tidb failover t run --component tikv --discard t-tikv-1",
	} {
		s := healthy()
		givenUp(name)(s)
		if p := s.Decide(); p.Outcome != plan.Converged {
			t.Fatalf("%s: the cluster has not converged: %s", name, plantest.Text(p))
		}
		all := s.find()
		got := with(all, "member-replaced")
		if len(got) != 1 || got[0].Member != name || !strings.Contains(got[0].Remedy.Line(""), command) || !finding.Healthy(all) {
			t.Errorf("%s: %+v", name, all)
		}
	}
}

// TestReplacedAndMissed: a store that was given up is missed as long as regions have a copy on it. A voter is missed
// as long as PD counts on it.
func TestReplacedAndMissed(t *testing.T) {
	s := healthy()
	both(givenUp("t-tikv-1"), func(s *sick) { s.Member("t-tikv-1").Database.Regions = 30 })(s)
	if got := with(s.find(), "store-down"); len(got) != 1 || !strings.Contains(got[0].Remedy.Line(""), "--discard t-tikv-1") {
		t.Errorf("%+v", got)
	}
	s = healthy()
	both(givenUp("t-pd-2"), func(s *sick) { s.Member("t-pd-2").Database.Presence = state.Present })(s)
	if got := with(s.find(), "pd-member-unhealthy"); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}
