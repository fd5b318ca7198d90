package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/finding"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

// mend does what "doctor --fix" does, and returns the steps that it took.
func (w *Model) mend() ([]step.Step, error) {
	w.note("user: doctor --fix")
	var taken []step.Step
	d := w.engage(never, func(ctx context.Context, e reconcile.Engine) (plan.Plan, error) {
		return plan.Plan{}, e.Mend(ctx, func(wanted desired.State, s state.Snapshot, p plan.Plan) []step.Step {
			return finding.Fixes(finding.Find(finding.Look{Wanted: wanted, Snapshot: s, Plan: p}))
		}, func(s step.Step, _ error) { taken = append(taken, s) })
	})
	if w.drive(d); d.dead {
		return taken, errKilled
	}
	return taken, d.err
}

// belongings are what mending must leave as it is: what others have done in PD, what was asked of
// Kubernetes, and who belongs to the database.
type belongings struct {
	schedulers, offline []uint64 // those of people
	sets                [components]setSpec
	uids                [components]string // of StatefulSets, "" where there is none
	claims              [components][limit]string
	voters              []uint64
}

func (w *Model) belongings() belongings {
	var b belongings
	for _, id := range slices.Sorted(maps.Keys(w.evicts)) {
		if !w.evicts[id].ours {
			b.schedulers = append(b.schedulers, id)
		}
	}
	for _, s := range w.stores {
		if s.byHand && s.state == state.StoreOffline {
			b.offline = append(b.offline, s.id)
		}
	}
	for k := range kinds {
		if b.sets[k] = w.sets[k].spec; w.sets[k].exists {
			b.uids[k] = w.sets[k].uid
		}
		for i, c := range w.claims[k] {
			if c != nil && c.goneAt == never {
				b.claims[k][i] = c.name
			}
		}
	}
	for _, m := range w.pd.members {
		b.voters = append(b.voters, m.id)
	}
	return b
}

// leftOver returns what an engine that was killed has left in PD for a while, and its records of that.
func (w *Model) leftOver() []string {
	var all []string
	for _, s := range w.stores {
		if e := w.evicts[s.id]; e != nil && e.ours {
			all = append(all, fmt.Sprintf("the scheduler of store %d", s.id))
		}
	}
	for _, r := range w.ledger {
		all = append(all, fmt.Sprintf("the record of store %d", r.StoreID))
	}
	return all
}

// mender is a person who runs doctor --fix after each kill, and counts what it has met.
type mender struct {
	kills atomic.Int64 // of engines
	left  atomic.Int64 // kills after which something of ours was in PD or in the ledger
	again atomic.Int64 // attempts that were killed as well, or that could not ask PD
}

// mend runs doctor --fix until nothing is left, again only where it was killed as well or PD could
// not be asked, and checks each attempt.
func (m *mender) mend(w *Model) {
	m.kills.Add(1)
	if len(w.leftOver()) > 0 {
		m.left.Add(1)
	}
	for range 20 {
		asked := w.serving() && w.t >= w.pd.loadedAt
		before := w.belongings()
		steps, err := w.mend()
		w.judgeMending(before, steps)
		if left := w.leftOver(); len(left) == 0 && err == nil {
			return
		} else if asked && !errors.Is(err, errKilled) {
			w.broke("mend", "left after doctor --fix: %v, %v", left, err)
			return
		}
		m.again.Add(1)
		w.Pass(30)
	}
	w.broke("mend", "PD could not be asked for ten minutes")
}

// judgeMending checks that only what is ours and temporary was taken back.
func (w *Model) judgeMending(before belongings, steps []step.Step) {
	for _, s := range steps {
		if s.Disruptive() {
			w.broke("mend", "doctor --fix is not to %s", s)
		}
	}
	after := w.belongings()
	for _, c := range []struct {
		what    string
		was, is any
	}{
		{"schedulers of others", before.schedulers, after.schedulers},
		{"stores that a person has taken offline", before.offline, after.offline},
		{"StatefulSets", before.sets, after.sets},
		{"which StatefulSets there are", before.uids, after.uids},
		{"claims", before.claims, after.claims},
	} {
		if !reflect.DeepEqual(c.was, c.is) {
			w.broke("mend", "%s: %v, and after doctor --fix %v", c.what, c.was, c.is)
		}
	}
	for _, id := range before.voters { // others may have joined meanwhile
		if w.pd.member(id) == nil {
			w.broke("mend", "member %d of PD is gone after doctor --fix", id)
		}
	}
}

// TestMendAfterKill kills the engine of each golden scenario after each of its steps, and half-way
// through it, once as it is and once after a person has evicted leaders in PD. Then doctor --fix
// leaves nothing of ours in PD that is there for a while, and takes nothing away of anybody else; and
// the scenario goes on, and converges. Without -exhaustive it does some of them, spread over all.
func TestMendAfterKill(t *testing.T) {
	var runs []faulty
	byHand := fault{name: "a person evicts leaders", do: (*Model).evictByHand, step: 1}
	for _, o := range operations() {
		for at := range o.steps {
			for _, f := range kills() {
				f.step = at + 1
				runs = append(runs, faulty{o.name, []fault{f}}, faulty{o.name, []fault{byHand, f}})
			}
		}
	}
	if *exhaustive == 0 {
		runs = spread(runs, 400)
	}
	var m mender
	sweep(t, runs, setup{silent: true, killed: m.mend})
	t.Logf("%d kills, %d of which left something in PD; %d attempts were not enough", m.kills.Load(), m.left.Load(), m.again.Load())
	if m.left.Load() < int64(len(runs)/10) {
		t.Error("hardly any kill has left something to mend")
	}
}
