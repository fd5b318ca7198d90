package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Rollouts in batches. PD keeps the replicas of each region in different zones, or a person believes that it does: the
// stores may have other labels since, or PD has yet to move regions. The truth is where the replicas are.

// byHand reports whether a person has set OnDelete.
func (s *set) byHand() bool { return s.spec.manual && !s.spec.batches }

// drawBatches has the commands of one simulated cluster in six restart several members at the same time. In most of
// these clusters PD keeps replicas in different zones. That is drawn separately, so that the other runs stay as they
// are.
func drawBatches(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 38))
	if rng.IntN(6) > 0 {
		return
	}
	o.Concurrency = plan.Concurrency{Number: pick(rng, 2, 2, 3, 5, 50), Percent: false}
	if o.Concurrency.Number == 50 {
		o.Concurrency.Percent = true
	}
	if o.TiKV = pick(rng, 6, 7, 9, 9, 11); rng.IntN(5) == 0 {
		return
	}
	o.Many = true
	o.Zones, o.Isolated, o.Tiers, o.Copies = pick(rng, []int{0, 1, 2}, []int{0, 1, 2}, []int{0, 1, 2, 2, 1}, []int{2, 1, 0, 3}), rng.IntN(5) > 0, nil, nil
	o.Zones = slices.Clone(o.Zones)
	o.Faults.Relabel = pick(rng, 0, 1./100, 1./300)
	o.Faults.Isolate = pick(rng, 0, 1./100)
}

// BatchSeed does one random run in which the stores of a cluster restart in batches, again and again, while labels, PD's
// isolation level and hosts change.
func BatchSeed(seed uint64, trace bool) *Model {
	rng := rand.New(rand.NewPCG(seed, 39))
	w := New(DrawnBatches(seed))
	if trace {
		w.Trace()
	}
	w.Settle(settleTime)
	w.chaos = true
	w.deploy()
	for n := range 2 + rng.IntN(3) {
		w.Upgrade("v"+strconv.Itoa(n+2), topology.TiKV)
		w.amongFaults(rng, w.t+int64(120+rng.IntN(600)))
	}
	w.calm()
	w.Settle(settleTime)
	return w
}

// DrawnBatches returns a cluster in zones, and what changes there. In one of four PD only prefers that replicas are in
// different zones.
func DrawnBatches(seed uint64) Options {
	rng := rand.New(rand.NewPCG(seed, 40))
	some := func(odds float64) float64 { return pick(rng, 0, odds, odds/4) }
	o := Options{
		Seed: seed, PD: pick(rng, 1, 3, 3), TiKV: 6 + rng.IntN(7), TiDB: pick(rng, 0, 2, 4), Many: true, KeepStuck: rng.IntN(2) == 0,
		Isolated: rng.IntN(4) > 0, MaxCopy: pick(rng, 3, 3, 3, 5),
		Concurrency: plan.Concurrency{Number: 2 + rng.IntN(4)},
		Faults: Faults{
			Relabel: some(1. / 30), Isolate: some(1. / 60), Crash: some(1. / 60), Lose: some(1. / 150), LoseZone: some(1. / 300),
			Standstill: some(1. / 100), Late: some(1. / 100), Resign: some(1. / 100), Saved: rng.IntN(2) == 0, Delete: some(1. / 150),
			EvictByHand: some(1. / 300), TakeOffline: some(1. / 400), Hide: some(1. / 300), OldReport: some(1. / 200),
		},
	}
	zones := 3 + rng.IntN(2)
	if o.MaxCopy > zones {
		zones = o.MaxCopy
	}
	for i := range o.TiKV { // the first stores are in different zones, so that all replicas have a place
		o.Zones = append(o.Zones, pick(rng, i%zones, rng.IntN(zones)))
		if i < zones {
			o.Zones[i] = i
		}
	}
	return o
}

// loseZone loses all hosts of a zone for a while.
func (w *Model) loseZone() {
	zone, seconds := w.zone(w.rng.IntN(limit)), w.between(30, 300)
	w.note("fault: the hosts of zone %d are lost for %d s", zone, seconds)
	for i, p := range w.pods[tikv] {
		if p != nil && w.zone(i) == zone {
			w.lose(p, seconds)
		}
	}
}

func (w *Model) beginBatches(s step.BeginBatches) error {
	return w.restrategize(s.Component, s.Basis, true)
}

func (w *Model) endBatches(s step.EndBatches) error {
	k := kindOf(s.Component)
	set := &w.sets[k]
	for i := range set.spec.each() {
		if p := w.pods[k][i]; p == nil || p.revision != set.update || set.observed != set.generation {
			return errConflict
		}
	}
	return w.restrategize(s.Component, s.Basis, false)
}

// restrategize begins or ends that the pods of a StatefulSet are restarted in batches. The partition is open after both.
func (w *Model) restrategize(component topology.Kind, on step.Basis, batches bool) error {
	k := kindOf(component)
	set := &w.sets[k]
	if !w.is(k, on) || set.byHand() {
		return errConflict
	}
	spec := set.spec
	spec.manual, spec.batches, spec.partition = batches, batches, 0
	w.change(set, spec)
	return nil
}

// together reports whether a member may be missing although another one is restarted. Both are of one batch: stores in
// one zone, of which judgeRegions judges that no region loses its quorum, or servers of which half serve.
func (w *Model) together(k kind, i, victim int) bool {
	if !w.sets[k].spec.batches || !w.seen.batches {
		return false
	}
	if k.leads() {
		return w.zone(i) == w.zone(victim) || w.seen.zones[i] == w.seen.zones[victim]
	}
	down := 1 // the victim
	for o := range w.sets[k].spec.each() {
		if o != victim && w.missing(k, o) {
			down++
		}
	}
	return k.data() == topology.None && !drains[k] && down <= max(w.sets[k].spec.replicas/2, 1)
}

// countTogether counts a restart while another member of the batch is down.
func (w *Model) countTogether(k kind, victim int) {
	for i := range w.sets[k].spec.each() {
		if w.sets[k].spec.batches && i != victim && w.missing(k, i) {
			w.Soft.Together++
			return
		}
	}
}

// inBatch reports whether the store of an ordinal may be one of a batch that is to be restarted: all such stores that
// give their leaders up are in one zone, and they are no more than the user allows.
func (w *Model) inBatch(i int) bool {
	due := func(i int) bool {
		p, s := w.pods[tikv][i], w.ownStore(i)
		return p != nil && p.revision != w.sets[tikv].spec.template && s != nil && w.evicts[s.id] != nil && w.evicts[s.id].ours
	}
	n := 0
	for o := range w.sets[tikv].spec.each() {
		switch {
		case !due(o):
		case w.zone(o) != w.zone(i) && w.seen.zones[o] != w.seen.zones[i]:
			return false
		default:
			n++
		}
	}
	return due(i) && n <= w.Concurrency.Of(w.sets[tikv].spec.replicas)
}

// places returns what a run in batches reads of PD. A process remembers since when the stores have the same labels.
func (w *Model) places(out *state.PD) {
	if !w.Concurrency.Batches() {
		return
	}
	if own := w.rules.asPD(w.MaxCopy)[0]; own.IsolationLevel != "" {
		out.LocationLabels, out.IsolationLevel = own.LocationLabels, own.IsolationLevel
	}
	found := w.Isolation()
	out.Isolation = state.Isolation{
		Regions: w.RegionCount(), Apart: found.Apart, Pass: found.Pass,
		Unsound: map[string]int{"miss-peer": found.Missing, "pending-peer": found.Pending, "down-peer": found.Down, "offline-peer": found.Offline},
	}
}

// rememberLabels notes since when the stores have the labels that they have now.
func (w *Model) rememberLabels(s *state.Snapshot) {
	m := &w.memory
	labels := ""
	for _, o := range s.PD.Placement.Stores {
		labels += fmt.Sprintln(o.ID, o.Labels)
	}
	if labels != m.labels {
		m.labels, m.labelsSince = labels, w.t
	}
	s.PD.Isolation.LabelsSince = w.at(m.labelsSince)
}

// relabel is a person who gives a store the label of another zone. The replicas are where they were.
func (w *Model) relabel() {
	w.label(w.rng.IntN(limit), w.zone(w.rng.IntN(limit)))
}

// label gives the store of an ordinal the label of a zone.
func (w *Model) label(i, zone int) {
	zones := make([]int, limit)
	for n := range zones {
		zones[n] = w.zone(n)
	}
	if w.zonesBefore == nil {
		w.zonesBefore = w.Zones
	}
	for _, s := range w.stores { // PD takes a while to move replicas that are in one zone now
		s.stays = max(s.stays, w.t+w.between(0, 200))
	}
	zones[i] = zone
	w.Zones, w.short = zones, true
	w.note("fault: the store of ordinal %d has the label of zone %d", i, zone)
}

// MostMembers is how many members a component can have.
const MostMembers = limit

// ZoneOf returns the label with the zone of the host that an ordinal runs on.
func (w *Model) ZoneOf(ordinal int) string { return strconv.Itoa(w.zone(ordinal)) }

// SetZone gives a store the label of a zone, and reports whether labels have one that the model knows.
func (w *Model) SetZone(id uint64, labels map[string]string) bool {
	zone, err := strconv.Atoi(labels[zoneLabel])
	s := w.store(id)
	if err != nil || s == nil || s.elsewhere() || len(w.Zones) == 0 {
		return false
	}
	w.label(s.ordinal, zone)
	return true
}

// putLabelsBack is a person who gives stores the labels again that they had, so that all replicas have a place.
func (w *Model) putLabelsBack() {
	if w.zonesBefore != nil {
		w.Zones, w.zonesBefore, w.short = w.zonesBefore, nil, true
	}
	if w.Faults.Isolate > 0 {
		w.rules.isolated = w.Isolated
	}
}

// isolate is a person who sets or removes PD's isolation level. PD moves no replica at once because of that.
func (w *Model) isolate() {
	w.rules.isolated, w.short = !w.rules.isolated, true
	w.note("fault: PD keeps replicas in different zones: %t", w.rules.isolated)
}

// restartOneByOne goes on with one member at a time, as a gate offers.
func (w *Model) restartOneByOne(g plan.Gate) {
	if g.Blocked && g.Reason == plan.BatchSafe {
		w.note("user: goes on with one member at a time")
		w.Concurrency = plan.Concurrency{}
	}
}
