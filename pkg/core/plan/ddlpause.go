package plan

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// EndDDLPause ends a pause of the DDL statements of users, which was begun for an upgrade of TiDB, and then removes its
// record from the TidbCluster. All servers of TiDB know the pause; one of them is asked.
type EndDDLPause struct {
	Component topology.Kind
	Member    string
	PodUID    string
}

func (EndDDLPause) step() {}

func (s EndDDLPause) Target() (topology.Kind, string) { return s.Component, s.Member }

func (s EndDDLPause) String() string { return "let DDL statements run again, by " + s.Member }

// endDDLPause ends a pause that the TidbCluster records. While no server of TiDB serves there is none to ask, and no DDL
// statement to run: the record stays until one does.
func endDDLPause(c topology.Cluster, s state.Snapshot) []Step {
	if !c.DDLPause.Recorded {
		return nil
	}
	for _, m := range s.Groups[topology.TiDB].Running() {
		if m.Up() && m.Pod != nil {
			return []Step{EndDDLPause{Component: m.Kind, Member: m.Name, PodUID: m.Pod.UID}}
		}
	}
	return nil
}

// endIdleDDLPause ends a pause when no upgrade of TiDB is under way that the pause could be for. With OnDelete a person
// replaces the pods, which may be in weeks.
func endIdleDDLPause(w desired.State, s state.Snapshot) verdict {
	got := s.Groups[topology.TiDB]
	if !got.Set.Manual && got.Set.Exists && (!got.Set.Observed || slices.ContainsFunc(got.Running(), got.Outdated)) {
		return verdict{}
	}
	return verdict{steps: endDDLPause(w.Cluster, s)}
}

// endDDLPauseWhileBlocked ends a pause while a person is needed before the upgrade goes on, which may take days.
func endDDLPauseWhileBlocked(w desired.State, s state.Snapshot, v verdict) []Step {
	if len(v.steps) > 0 || !allBlocked(v.gates) {
		return nil
	}
	return endDDLPause(w.Cluster, s)
}
