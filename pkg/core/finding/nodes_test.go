package finding_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// nodeReport gives the look what Kubernetes reports of node node-1.
func nodeReport(r state.NodeReport) func(*sick) {
	return func(s *sick) {
		s.look.NodeReports = map[string]state.NodeReport{"node-0": {State: state.NodeReady}, "node-1": r}
	}
}

func nodeExamples() []example {
	lost := state.NodeReport{State: state.NodeNotReady, Since: plantest.Now.Add(-5 * time.Minute), Message: "Kubelet stopped posting node status."}
	ready := nodeReport(state.NodeReport{State: state.NodeReady})
	down := func(names ...string) func(*sick) { return func(s *sick) { s.Down(time.Minute, names...) } }
	// unanswering has PD's leader and a TiDB server on node-1 give no answer, while Kubernetes calls their pods Ready.
	unanswering := func(s *sick) {
		s.Unreached("t-pd-1")
		s.Member("t-tidb-1").Database = state.Database{Answer: state.NoAnswer}
	}
	oneHost := func(s *sick) {
		for _, g := range s.Seen.Groups {
			for i := range g.Members {
				g.Members[i].Pod.Node = "node-1"
			}
		}
	}
	return []example{
		{"node-not-ready", nodeReport(lost),
			"(5m ago): Kubelet stopped posting node status; it has t-pd-1, t-tikv-1, t-tidb-1", "", ready},
		{"node-not-ready", nodeReport(state.NodeReport{State: state.NodeMissing}), "node node-1 does not exist any more; it has t-pd-1", "", func(*sick) {}},
		{"node-not-ready", both(nodeReport(lost), func(s *sick) { s.Unreached("t-pd-1") }), "node node-1 is not Ready", "",
			func(s *sick) { s.look.NodeReports = map[string]state.NodeReport{"node-9": lost} }},
		{"members-down-on-one-node", both(ready, down("t-pd-1", "t-tikv-1")),
			"are on node node-1: t-pd-1, t-tikv-1; other members on it: t-tidb-1; Kubernetes calls the node Ready, but its network may be cut", "",
			both(ready, down("t-pd-1", "t-tikv-2"))},
		{"members-down-on-one-node", unanswering, "are on node node-1: t-pd-1, t-tidb-1; other members on it: t-tikv-1", "", down("t-pd-1")},
		{"members-down-on-one-node", down("t-pd-1", "t-tikv-1"), "t-tikv-1; other members on it: t-tidb-1", "", both(oneHost, down("t-pd-1", "t-tikv-1"))},
		{"members-down-on-one-node", down("t-pd-1", "t-tikv-1"), "on node node-1", "", both(nodeReport(lost), down("t-pd-1", "t-tikv-1"))},
		{"members-down-on-one-node", down("t-pd-1", "t-tikv-1"), "on node node-1", "",
			both(down("t-pd-1", "t-tikv-1"), func(s *sick) { s.Down(time.Minute, "t-tidb-0").Member("t-tidb-0").Pod = nil })},
		{"members-down-on-one-node", down("t-pd-1", "t-tikv-1"), "on node node-1", "",
			both(down("t-pd-1", "t-tikv-1"), func(s *sick) { s.Member("t-pd-1").Pod.Terminating, s.Member("t-tikv-1").Pod.Made = true, plantest.Now })},
	}
}

// TestUnreachedOnNode: where PD's leader cannot be reached, the node of the leader is named, whether nodes may be read
// or not.
func TestUnreachedOnNode(t *testing.T) {
	s := healthy()
	s.Unreached("t-pd-1")
	if got := with(s.find(), "pd-unknown"); len(got) != 1 || !strings.Contains(got[0].Seen, "t-pd-1 is on node node-1") {
		t.Errorf("%+v", got)
	}
}

// TestNodeOfReplaced: a node that is not Ready is no finding where all of its members were given up and replaced. The
// cluster has converged then.
func TestNodeOfReplaced(t *testing.T) {
	s := healthy()
	both(givenUp("t-tidb-1"), func(s *sick) {
		s.Member("t-tidb-1").Pod.Node = "node-9"
		s.look.NodeReports = map[string]state.NodeReport{"node-9": {State: state.NodeNotReady}}
	})(s)
	if got := with(s.find(), "node-not-ready"); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
