package sim

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

// ddlOptions say what TiDB does about requests to pause DDL, as probabilities of one request.
type ddlOptions struct {
	Asked bool // versions of TiDB are such that upgrades ask for a pause
	Old   bool // TiDB does not know of pauses all the same
	// Refuses: TiDB answers that DDL is not paused. Slow: TiDB pauses DDL, and answers with an error. Silent: the
	// answer of TiDB is lost, whether DDL is paused or not.
	Refuses, Slow, Silent float64
}

// drawDDL has upgrades of TiDB pause DDL in one simulated cluster of three. That is drawn separately, so that the other
// runs stay as they are.
func drawDDL(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 31))
	if rng.IntN(3) > 0 {
		return
	}
	o.TiDB, o.Faults.Release = max(o.TiDB, 1+rng.IntN(3)), 1./150
	o.DDL = ddlOptions{Asked: true, Old: rng.IntN(8) == 0, Refuses: pick(rng, 0, 0, .3), Slow: pick(rng, 0, .2), Silent: pick(rng, 0, .2)}
}

// releases are the releases of TiDB that templates stand for, for whose upgrades DDL is paused.
var releases = map[string]string{"v1": "v8.1.0", byHand: "v8.1.1", "v2": "v8.1.2", "v3": "v8.5.0", "v4": "v8.5.3", "v5": "v8.5.4"}

// changeRelease is a user who changes the release of TiDB, mostly to a later one.
func (w *Model) changeRelease() {
	next := [...]string{"v2", "v3", "v1"}
	version, _, _ := strings.Cut(w.Intent.Template[tidb], "-")
	w.Upgrade(next[(slices.Index(next[:], version)+1)%len(next)], topology.TiDB)
}

// versionOf returns the version that a template stands for.
func (w *Model) versionOf(k kind, template string) string {
	if !w.pausesDDL(k) {
		return template
	}
	version, _, _ := strings.Cut(asked(template), "-")
	return releases[version]
}

// imageOf returns the version in a pod's image, "" for all but servers whose upgrade pauses DDL.
func (w *Model) imageOf(k kind, p *pod) string {
	if !w.pausesDDL(k) {
		return ""
	}
	return w.versionOf(k, p.revision)
}

func (w *Model) pausesDDL(k kind) bool { return w.DDL.Asked && runsDDL[k] }

// runsDDL are the components whose members run DDL statements.
var runsDDL = [components]bool{tidb: true}

// beginDDLPause fails at any point, as package act may: the record is written before TiDB is asked. Only a clear
// refusal removes it.
func (w *Model) beginDDLPause(s step.BeginDDLPause) error {
	i, _ := w.index(s.Component, s.By)
	switch p := w.pods[tidb][i]; {
	case p == nil || p.uid != s.PodUID, w.Intent.Paused, w.Intent.Held[tidb]:
		return errConflict
	case w.ddl.recorded, w.DDL.Old, !w.serves(tidb, i):
		return nil
	}
	w.ddl.recorded = true
	if w.endsHalfWay() {
		return errHalfWay
	}
	switch {
	case w.odds(w.DDL.Refuses):
		w.note("TiDB refuses to pause DDL")
		if w.endsHalfWay() {
			return errHalfWay
		}
		w.ddl.recorded = w.ddl.paused
	case w.odds(w.DDL.Slow):
		w.note("TiDB pauses DDL, and answers with an error")
		w.ddl.paused = true
	case w.odds(w.DDL.Silent):
		w.ddl.paused = w.rng.IntN(2) == 0
		w.note("the answer of TiDB is lost; DDL paused: %t", w.ddl.paused)
	default:
		w.ddl.paused = true
	}
	return nil
}

// odds draws what TiDB does, also where there are no faults.
func (w *Model) odds(p float64) bool { return p > 0 && w.rng.Float64() < p }

// judgeDDL checks that no pause is without a record: no later run would end it.
func (w *Model) judgeDDL() {
	if w.ddl.paused && !w.ddl.recorded {
		w.broke("ddl", "DDL is paused, and nothing records that")
	}
}

// judgeEnd checks that a run which takes back what it has begun leaves no pause of DDL. It applies if the run has seen
// a server to ask.
func (w *Model) judgeEnd(d *driver) {
	killed := d.dead || d.lost || errors.Is(d.err, errKilled) || errors.Is(d.err, errLease)
	if !d.undoes || killed || errors.As(d.err, new(*reconcile.UndoError)) || d.view == nil {
		return
	}
	alone := len(w.drivers) == 0 && w.operator == "" && !w.Intent.Paused
	if w.ddl.paused && alone && d.view.snap.Groups[topology.TiDB].Up() > 0 {
		w.broke("ddl", "a run has ended, and DDL is still paused: %v", d.err)
	}
}

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
func (w *Model) endDDLPause(s step.EndDDLPause) error {
	i, _ := w.index(s.Component, s.Member)
	switch p := w.pods[tidb][i]; {
	case p == nil || p.uid != s.PodUID, w.Intent.Paused:
		return errConflict
	case !w.ddl.recorded:
		return nil
	case !w.serves(tidb, i), w.DDL.Old:
		return errTiDB
	}
	w.ddl.paused = false
	if w.endsHalfWay() {
		return errHalfWay
	}
	w.ddl.recorded = false
	return nil
}

// restOfDDL checks that no run ends converged while DDL statements of users wait. It applies as long as a server can be
// asked.
func (w *Model) restOfDDL() {
	if (w.ddl.paused || w.ddl.recorded) && w.Intent.Replicas[tidb] > 0 && !w.Intent.Suspend[tidb] {
		w.broke("ddl", "the pause of DDL has not ended, or its record is there: %+v", w.ddl)
	}
}
