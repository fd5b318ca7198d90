package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

const (
	// noticed is how long it takes at most until it is seen that a tidb-operator drives.
	noticed = 30
	// yielding is how long an engine may take until it takes no step any more.
	yielding = noticed + 60
	// syncs is how often the operator looks at the cluster.
	syncs = 10
)

var errOperator = errors.New("a tidb-operator has begun to drive the cluster")

// startOperator lets a tidb-operator begin to drive the cluster, for some minutes. Commands
// end when they see it; daemons ask before each turn.
func (w *Model) startOperator() {
	if w.operator != "" || w.Intent.Paused {
		return
	}
	w.operator, w.cameAt, w.goesAt = "a tidb-operator", w.t, w.t+w.between(60, 600)
	w.seesAt = w.t + w.between(1, noticed)
	w.note("fault: a tidb-operator drives the cluster until %s", clock(w.goesAt))
}

// tickOperator is what a second brings while a tidb-operator drives.
func (w *Model) tickOperator() {
	switch {
	case w.operator == "":
		return
	case w.t >= w.goesAt:
		w.note("the tidb-operator is gone")
		w.operator = ""
		return
	case w.t == w.seesAt:
		for _, d := range w.drivers {
			if !d.daemon {
				d.abort(errOperator)
			}
		}
	}
	if (w.t-w.cameAt)%syncs == 0 {
		w.operate()
	}
}

// empties are the components from whose members the operator first takes what they have. Each function reports whether
// a member is empty, and goes on with it where it is not.
var empties = [components]func(*Model, int) bool{tikv: (*Model).evicted, ticdc: (*Model).drainedByOperator}

// operate is one sync of the operator. It goes on with the rollout of the first component that has one. It takes a
// member at a time from the top, as long as all members are Ready. It evicts leaders from a store first: it marks the
// pod, and makes a scheduler. When the operator goes away, the mark, the scheduler and the partition stay as they are.
func (w *Model) operate() {
	w.endEvictions()
	for k := range kinds {
		set, i := &w.sets[k], w.next(kind(k))
		if !set.exists || set.leaving || set.spec.manual || i < 0 {
			continue
		}
		empty := empties[k]
		if set.observed == set.generation && w.allReady(kind(k)) && w.upgradedServe(kind(k)) && (empty == nil || empty(w, i)) {
			w.note("tidb-operator: restarts %s", w.names[k][i])
			spec := set.spec
			spec.partition = i
			w.change(set, spec)
		}
		return
	}
}

func (w *Model) allReady(k kind) bool {
	for i := range w.sets[k].spec.each() {
		if p := w.pods[k][i]; p == nil || !p.ready || p.terminating() {
			return false
		}
	}
	return true
}

// upgradedServe reports whether the members with the new template are healthy by PD, or by their status port. The operator
// looks at these before it goes on, and at nothing of PD while PD does not answer (pd_upgrader.go, tikv_upgrader.go and
// tidb_upgrader.go of tidb-operator v1.6).
func (w *Model) upgradedServe(k kind) bool {
	if k.data() == topology.Raft && !w.serving() {
		return false
	}
	for i := range w.sets[k].spec.each() {
		if p := w.pods[k][i]; p != nil && p.revision == w.sets[k].update && !w.serves(k, i) {
			return false
		}
	}
	return true
}

// evicted reports whether no leader is left on a store; until then it is worked on.
func (w *Model) evicted(i int) bool {
	s, p := w.ownStore(i), w.pods[tikv][i]
	if s == nil || s.state != state.StoreUp || !w.serving() {
		return false
	}
	if _, recorded := w.recordOf(s.id); w.evicts[s.id] == nil && !recorded {
		w.note("tidb-operator: evicts leaders from %s", w.names[tikv][i])
		w.evicts[s.id], p.evictionBegun, w.theirs = &scheduler{}, w.Now(), append(w.theirs, s.id)
	}
	return s.leaders == 0
}

// endEvictions removes the operator's own schedulers from stores that are back.
func (w *Model) endEvictions() {
	w.theirs = slices.DeleteFunc(w.theirs, func(id uint64) bool {
		s, e := w.store(id), w.evicts[id]
		p := w.pods[tikv][s.ordinal]
		if e == nil || e.ours || p == nil || !p.ready || p.revision != w.sets[tikv].spec.template || !w.serving() {
			return e == nil || e.ours
		}
		delete(w.evicts, id)
		p.evictionBegun = time.Time{}
		return true
	})
}

// judgeOperator: nothing is done beside a tidb-operator but to take back what is
// temporary.
func (w *Model) judgeOperator(s step.Step, say sayer) {
	switch s.(type) {
	case step.AllowLeaders, step.ForgetRecord, step.RestoreStore, step.EndDDLPause:
		return
	}
	if w.operator != "" && w.t-w.cameAt > yielding && !w.nap.woke {
		say("operator", "a tidb-operator has driven since %s", clock(w.cameAt))
	}
}
