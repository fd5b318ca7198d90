package sim

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
)

// ddlPause is a pause of the DDL statements of users.
type ddlPause struct {
	paused   bool // what TiDB knows
	recorded bool // what the TidbCluster says
}

// pauseDDL is a tidb-operator that begins a pause of DDL, and does not go on.
func (w *Model) pauseDDL() {
	w.ddl = ddlPause{paused: true, recorded: true}
	w.note("tidb-operator: pauses DDL statements")
}

// endDDLPause fails at any point, as package act may: TiDB ends the pause before the record is removed.
func (w *Model) endDDLPause(s plan.EndDDLPause) error {
	i, _ := w.cluster.Ordinal(s.Component, s.Member)
	switch p := w.pods[tidb][i]; {
	case p == nil || p.uid != s.PodUID, w.Intent.Paused:
		return errConflict
	case !w.ddl.recorded:
		return nil
	case !w.serves(tidb, i):
		return errTiDB
	}
	w.ddl.paused = false
	if w.endsHalfWay() {
		return errHalfWay
	}
	w.ddl.recorded = false
	return nil
}

// restOfDDL checks that no run ends converged while DDL statements of users wait, as long as a server can be asked.
func (w *Model) restOfDDL() {
	if w.ddl.paused && w.Intent.Replicas[tidb] > 0 && !w.Intent.Suspend[tidb] {
		w.broke("ddl", "the pause of DDL has not ended")
	}
}
