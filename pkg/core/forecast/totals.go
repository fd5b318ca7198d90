package forecast

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Totals are what the steps come to.
type Totals struct {
	Restarts []Count // by component, in the order of the steps
	// Leaders of regions that leave stores before these restart or go, and regions that leave stores
	// for good.
	Leaders, Regions Amount
	PDLeaderMoves    int
	// Starting is how long the pods that restart took to be Ready the last time, one batch after the other. Of
	// those in StartingUnknown it is not known.
	Starting        time.Duration
	StartingUnknown int
	// Claims that are made, that grow, and that are deleted with their data.
	Made, Grown, Deleted []string
	// Lasting is what cannot be taken back, a sentence each.
	Lasting []string
}

// Count is a number of members.
type Count struct {
	Component topology.Kind
	Number    int
}

// Amount is a number of which a part may not be known. Unknown is never counted as zero.
type Amount struct {
	Known int
	// Unknown is of how many stores the number is not known.
	Unknown int
}

func (a *Amount) add(n int, known bool) {
	if !known || n < 0 {
		a.Unknown++
		return
	}
	a.Known += n
}

// Zero reports whether there is nothing at all.
func (a Amount) Zero() bool { return a == Amount{} }

// total sums up. What is on a store is what the snapshot has: in a forecast leaders leave one store after
// the other, and come back.
func total(steps []Step, w *world, now state.Snapshot) Totals {
	var t Totals
	for _, s := range steps {
		if count := counted[s.Action()]; count != nil {
			count(&t, s, now)
		}
	}
	t.Made = slices.Sorted(slices.Values(w.made))
	return t
}

// counted has a row for each kind of step that counts.
var counted = map[string]func(*Totals, Step, state.Snapshot){
	"Restart":      restarted,
	"DeletePod":    restarted,
	"ReplaceEnded": restarted,
	"MoveLeader":   func(t *Totals, _ Step, _ state.Snapshot) { t.PDLeaderMoves++ },
	"EvictLeaders": func(t *Totals, s Step, now state.Snapshot) {
		m, known := stored(now, s.Step.(step.EvictLeaders).StoreID)
		t.Leaders.add(m.Leaders, known)
	},
	"RemoveStore": func(t *Totals, s Step, now state.Snapshot) {
		r := s.Step.(step.RemoveStore)
		m, known := stored(now, r.StoreID)
		t.Regions.add(m.Regions, known)
		t.lasting("store %d of %s leaves for good: the member would come back with a new, empty store", r.StoreID, r.Member)
	},
	"RemoveMember": func(t *Totals, s Step, _ state.Snapshot) {
		t.lasting("%s leaves PD for good: it would come back with new data", s.Step.(step.RemoveMember).Member)
	},
	"ClosePump": func(t *Totals, s Step, _ state.Snapshot) {
		t.lasting("%s is closed: it takes no more binlog", s.Step.(step.ClosePump).Member)
	},
	"ResizeClaim": func(t *Totals, s Step, _ state.Snapshot) {
		r := s.Step.(step.ResizeClaim)
		t.Grown = append(t.Grown, r.Name)
		if len(t.Grown) == 1 {
			t.lasting("volumes that have grown cannot shrink again")
		}
	},
	"DeleteClaim": func(t *Totals, s Step, _ state.Snapshot) {
		d := s.Step.(step.DeleteClaim)
		t.Deleted = append(t.Deleted, d.Name)
		t.lasting("claim %s is deleted, with the data of a member that was removed", d.Name)
	},
	"RecordFailure": func(t *Totals, s Step, _ state.Snapshot) {
		if r := s.Step.(step.RecordFailure); r.Discarded {
			t.lasting("the data of %s is given up", r.Member)
		}
	},
}

func (t *Totals) lasting(format string, args ...any) {
	t.Lasting = append(t.Lasting, fmt.Sprintf(format, args...))
}

func restarted(t *Totals, s Step, now state.Snapshot) {
	k, name := s.Target()
	i := slices.IndexFunc(t.Restarts, func(c Count) bool { return c.Component == k })
	if i < 0 {
		i, t.Restarts = len(t.Restarts), append(t.Restarts, Count{Component: k})
	}
	t.Restarts[i].Number++
	m, _ := now.Groups[k].Member(name)
	took, known := started(m.Pod)
	if !known {
		t.StartingUnknown++
	}
	t.Starting += took
}

// savedByBatches returns how much less time pods take that start at the same time than one after the other. Of each
// batch the slowest pod counts.
func savedByBatches(steps []Step, policy plan.Policy, profiles []plan.Profile, want desired.State, now state.Snapshot) time.Duration {
	var saved time.Duration
	for _, g := range want.Groups {
		for _, batch := range plan.Batches(profiles, policy, want, now, g.Kind) {
			var sum, slowest time.Duration
			for _, m := range batch {
				restarts := slices.ContainsFunc(steps, func(s Step) bool {
					r, is := s.Step.(step.Restart)
					return is && r.Member == m.Name
				})
				if took, _ := started(m.Pod); restarts {
					sum, slowest = sum+took, max(slowest, took)
				}
			}
			saved += sum - slowest
		}
	}
	return saved
}

// started returns how long a pod took to be Ready. It is not known of a pod whose process has ended since,
// or that has been Ready before.
func started(p *state.Pod) (time.Duration, bool) {
	if p == nil || !p.Ready || p.Restarts > 0 {
		return 0, false
	}
	took := p.Since.Sub(p.Made)
	if took <= 0 || took >= facts.TimeToServe {
		return 0, false
	}
	return took, true
}

// stored returns what PD says of a store.
func stored(now state.Snapshot, id uint64) (state.Database, bool) {
	for _, g := range now.Groups {
		for _, m := range g.Members {
			if m.Database.ID == id && m.Database.State != "" {
				return m.Database, true
			}
		}
	}
	return state.Database{}, false
}
