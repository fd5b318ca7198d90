package sim

import (
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// passTime is how long PD takes to go through all regions, in seconds.
const passTime = 20

// nowhereApart is PD's word for regions with two replicas that differ in no location label.
const nowhereApart = "none"

// Isolation is where the replicas of regions were when PD last went through them.
type Isolation struct {
	// Apart is how many regions have replicas that differ in a location label. It is empty until the leader of PD has gone
	// through all regions once.
	Apart map[string]int
	// Missing, Pending, Down and Offline are how many regions lack a replica, or have one on a store that does not run,
	// that PD calls Down, or that leaves.
	Missing, Pending, Down, Offline int
	// Pass is how long PD took to go through all regions, 0 while it has not done so.
	Pass time.Duration
}

// patrol is how PD's leader goes through all regions.
type patrol struct {
	begun int64 // when the pass began
	found Isolation
}

// Isolation returns where the replicas of regions were, as the leader of PD counted.
func (w *Model) Isolation() Isolation { return w.pd.patrol.found }

// RegionCount returns how many regions there are.
func (w *Model) RegionCount() int { return len(w.regions) * crowd }

// patrolAgain has a new leader of PD begin to count.
func (w *Model) patrolAgain() { w.pd.patrol = patrol{begun: w.t} }

// tickPatrol ends a pass of PD's leader through all regions. The counts are those of that moment, and stay until the
// end of the next pass. A leader that may schedule nothing does not go through regions either.
func (w *Model) tickPatrol() {
	p := &w.pd.patrol
	if len(w.regions) == 0 || !w.serving() || w.stalled().Halted {
		p.begun = w.t
		return
	}
	if w.t-p.begun < passTime {
		return
	}
	p.begun = w.t
	p.found = Isolation{Apart: map[string]int{}, Pass: passTime * time.Second}
	for i := range w.regions {
		r := &w.regions[i]
		p.found.Apart[w.apartIn(r)] += crowd
		if w.lacksReplicas(i) {
			p.found.Missing += crowd
		}
		if r.any(func(s *store) bool { return !s.runs }) {
			p.found.Pending += crowd
		}
		if r.any(func(s *store) bool { return s.state == state.StoreUp && w.t-s.heartbeat > downAfter }) {
			p.found.Down += crowd
		}
		if r.any(func(s *store) bool { return s.state == state.StoreOffline }) {
			p.found.Offline += crowd
		}
	}
}

// apartIn returns the location label in which the replicas of a region differ. Without location labels there is none.
func (w *Model) apartIn(r *region) string {
	if !w.rules.isolated {
		return nowhereApart
	}
	for _, s := range r.replicas {
		if !w.apart(r, s, s) {
			return nowhereApart
		}
	}
	return zoneLabel
}

// lacksReplicas reports whether a region has fewer replicas than the rules ask for. PD counts those in TiFlash, too.
func (w *Model) lacksReplicas(i int) bool {
	wanted := w.MaxCopy
	if i < tables && !w.flash.off {
		wanted += w.asks
	}
	return len(w.regions[i].replicas)+len(w.regions[i].learners) < wanted
}

// any reports whether one of the stores with a replica is such a store.
func (r *region) any(is func(*store) bool) bool {
	for _, all := range [...][]*store{r.replicas, r.learners} {
		for _, s := range all {
			if is(s) {
				return true
			}
		}
	}
	return false
}
