package sim

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

var (
	errNoPD   = errors.New("PD does not answer")
	errKilled = errors.New("the engine was killed")
)

// observation is what an Observer once answered.
type observation struct {
	at     int64
	wanted desired.State
	snap   state.Snapshot
	// What writes are conditional on and what they write: the generations of
	// the StatefulSets stand for resourceVersions.
	generations       [components]int
	intent            Intent
	refused           error // what package render says of the spec
	advice, newAdvice advice
}

func (o *observation) answer() state.Observation {
	return state.Observation{Cluster: o.wanted.Cluster, Snapshot: o.snap}
}

// want works out what is wanted when it is observed: there are no manifests to make.
func (w *Model) want(state.Observation) (desired.State, error) { return w.view.wanted, w.view.refused }

// Observe implements reconcile.Observer.
func (w *Model) Observe(_ context.Context, live bool) (state.Observation, error) {
	if w.dead {
		return state.Observation{}, errKilled
	}
	if live {
		w.tick()
	}
	if w.t >= w.late {
		w.abort(errLate) // also an engine that never waits runs out of time
	}
	w.seen = w.sight()
	w.seen.live = live
	if w.chaos && w.rng.Float64() < w.Faults.NoAnswer {
		return state.Observation{}, errors.New("the API server does not answer")
	}
	switch {
	case w.daemon && !live:
		return w.mirrored()
	case w.lease != nil:
		if err := w.request(w.driver); err != nil {
			return state.Observation{}, err
		}
	}
	if o := w.cache; !live && o != nil && w.lagging() {
		if w.lagAll {
			w.view = o
			return o.answer(), nil
		}
		w.view = w.observe()
		w.view.snap = oldDatabase(w.view.snap, o.snap)
		return w.view.answer(), nil
	}
	w.cache = w.observe()
	w.view = w.cache
	return w.cache.answer(), nil
}

// lagging reports whether the cache still shows what it showed last.
func (w *Model) lagging() bool {
	if !w.chaos {
		return false
	}
	if w.t > w.lag+60 && w.rng.Float64() < w.Faults.Stale {
		w.lag, w.lagAll = w.t+w.rng.Int64N(60), w.rng.IntN(2) == 0
	}
	return w.t <= w.lag
}

// oldDatabase is a snapshot whose half from the database is an old one. A tombstone is
// that of the claim which was there then, as package observe has it.
func oldDatabase(fresh, old state.Snapshot) state.Snapshot {
	fresh.PD = old.PD
	for kind, g := range fresh.Groups {
		for i := range g.Members {
			if o, seen := old.Groups[kind].At(g.Members[i].Ordinal); seen {
				g.Members[i].Database = o.Database
				if o.Database.State == state.StoreTombstone && !sameClaim(o.Claims, g.Members[i].Claims) {
					g.Members[i].Database = state.Database{Presence: state.Absent}
				}
			}
		}
	}
	return fresh
}

func sameClaim(a, b []state.Claim) bool {
	return len(a) == len(b) && (len(a) == 0 || a[0].UID == b[0].UID)
}

// observe is a live observation, by the process whose turn it is.
func (w *Model) observe() *observation {
	o := w.look()
	w.remember(&o.snap)
	return o
}

// look is what any client sees now.
func (w *Model) look() *observation {
	o := &observation{at: w.t, wanted: w.wanted(), intent: w.Intent, advice: w.advice, newAdvice: w.newAdvice(), refused: w.refusal()}
	o.snap = state.Snapshot{
		At: w.Now(), PD: w.observePD(), Groups: make(map[topology.Kind]state.Group, len(kinds)), RulesEnabled: w.flash.enabled,
	}
	for _, r := range w.ledger {
		o.snap.Evictions = append(o.snap.Evictions, r.Eviction)
	}
	o.snap.Certificates = w.certificates()
	o.snap.Removals, o.snap.Drains = slices.Clone(w.removals), slices.Clone(w.cdc.drains)
	for k, name := range kinds {
		o.generations[k] = w.sets[k].generation
		o.snap.Groups[name] = w.observeGroup(kind(k))
	}
	return o
}

// known reports whether PD answers us. During an election it may or may not. Members in
// another Kubernetes cluster cannot be reached.
func (w *Model) known() bool {
	return w.hasQuorum() && w.t >= w.pd.silentUntil && w.reached() && (w.pd.leader != 0 || w.Seed%2 == 1)
}

// storesKnown reports whether PD answers about stores.
func (w *Model) storesKnown() bool {
	return w.known() && w.pd.leader != 0 && w.t >= w.pd.storeless
}

func (w *Model) observePD() state.PD {
	out := state.PD{ClusterID: w.recorded}
	if !w.known() {
		return w.unansweredPD()
	}
	out.ClusterID, out.SchedulersUnknown = w.pd.id, w.t < w.pd.loadedAt
	out.Members, out.Healthy = len(w.pd.members), w.healthyMembers()
	out.PumpsKnown, out.Scheduling = w.Pump > 0, w.schedules()
	out.MaxReplicas, out.MaxStoreDown, out.RulesDisabled = w.MaxCopy, downAfter*time.Second, w.flash.off
	if m := w.pd.member(w.pd.leader); m != nil {
		out.Leader = "elsewhere"
		if m.ordinal >= 0 {
			out.Leader = w.names[pd][m.ordinal]
		}
	}
	if !w.storesKnown() {
		return out
	}
	out.Bootstrapped, out.Placement, out.Elsewhere = len(w.stores) > 0, w.placed(), w.notUpElsewhere()
	w.places(&out)
	for _, s := range w.stores {
		if !s.k.leads() {
			continue
		}
		switch w.shownState(s) {
		case state.StoreTombstone:
		case state.StoreUp:
			out.UpStores++
			out.Stores++
		default:
			out.Stores++
		}
	}
	return out
}

func (w *Model) observeGroup(k kind) state.Group {
	s := &w.sets[k]
	g := state.Group{Set: state.Set{
		Exists: s.exists, UID: s.uid, Generation: int64(s.generation), Made: w.at(s.made), Terminating: s.leaving, Replicas: s.spec.replicas, Slots: w.ordinalsIn(s.spec.slots), Partition: w.ordinal(s.spec.partition), Manual: s.byHand(), InBatches: s.spec.batches, Ordered: w.Ordered[k],
		Observed: s.observed == s.generation, UpdateRevision: s.update, CurrentRevision: s.current,
		Template: s.applied(),
	}}
	g.Set.Volumes = w.likeness[k].templates(k, s.spec)
	listed := w.listedOf(k)
	g.Members = make([]state.Member, len(listed))
	pods, claims := make([]state.Pod, len(listed)), make([]state.Claim, len(listed))
	for at, i := range listed {
		m := &g.Members[at]
		m.Kind, m.Ordinal, m.Name = kinds[k], w.ordinal(i), w.names[k][i]
		m.Database = w.observeDatabase(k, i)
		if w.Concurrency.Batches() && k.data() == topology.Store && m.Database.Presence == state.Present {
			m.StoreLabels = labelsOf(w.zone(i), w.tier(i))
		}
		labels := w.likeness[k].labels(i, m.Name, w.tellsID(), w.knownAs(k, i, m.Database.ID))
		if p := w.pods[k][i]; p != nil {
			m.Pod = &pods[at]
			w.observePod(p, m.Pod)
			m.Pod.Node = nodeOf(i)
			w.byHost(k, i, m.Pod)
			m.Pod.Binlog = w.Binlog
			m.Pod.Version = w.imageOf(k, p)
			m.Pod.Identity, m.Pod.Mounts = labels, w.mountedBy(k, p)
		}
		if c := w.claims[k][i]; c != nil {
			m.Claims = claims[at : at+1 : at+1]
			m.Claims[0] = w.observeClaim(k, c)
			m.Claims[0].Identity = labels
			if m.Pod != nil {
				m.Pod.Claims = c.mounted
				w.noteLostVolume(k, m)
			}
		}
	}
	return g
}

// listedOf returns the numbers of the members that an observation has, as package observe lists them. These are the
// members of the StatefulSet, those of which something is there, and those that lie between. A slot has a member only
// where something is there or wanted.
func (w *Model) listedOf(k kind) []int {
	is, end := w.sets[k].spec.members, 0
	there := func(i int) bool { return w.pods[k][i] != nil || w.claims[k][i] != nil || w.inDatabase(k, i) }
	for i := range limit {
		if is.has(i) || there(i) {
			end = i + 1
		}
	}
	var all []int
	for i := range end {
		if !is.slots.has(i) || there(i) || w.Intent.wants(k, i) {
			all = append(all, i)
		}
	}
	return all
}

func (w *Model) inDatabase(k kind, i int) bool {
	return k.data() == topology.Raft && w.pd.memberAt(i) != nil || k.data() == topology.Store && w.storeAt(k, i) != nil && w.storeAt(k, i).state != state.StoreTombstone ||
		k.data() == topology.Binlog && w.pumps[i] != nil && w.pumps[i].state != state.PumpOffline
}

func (w *Model) observePod(p *pod, out *state.Pod) {
	*out = state.Pod{
		UID: p.uid, Revision: p.revision, Ready: p.ready, Terminating: p.terminating(),
		Since: w.at(p.since), Problem: p.problem, Ran: p.ran, Made: w.at(p.made), Restarts: p.restarts,
		EvictionBegun: p.evictionBegun, DrainBegun: p.drainBegun,
	}
	if p.last[1] != 0 {
		out.Last = state.Run{Started: w.at(p.last[0]), Ended: w.at(p.last[1])}
	}
	out.Addressed, out.Ended, out.NodeState = w.addressed(p), p.ended, w.nodeState(p)
	if w.reportedRunning(p) {
		out.Started = w.at(p.started)
	}
}

// addressed reports whether a process of a pod can be asked, as by its status it has an address.
func (w *Model) addressed(p *pod) bool { return p != nil && p.ran && !p.ended }

// reportedRunning reports whether the container of a pod runs by its status. The API may have an old one.
func (w *Model) reportedRunning(p *pod) bool { return p.running && p.unreported <= w.t }

func (w *Model) observeDatabase(k kind, i int) state.Database {
	switch k.data() {
	case topology.Raft:
		return w.observeMember(i)
	case topology.Store:
		return w.observeStore(k, i)
	case topology.Binlog:
		return w.observePump(i)
	}
	return w.observeServer(k, i)
}

// answersPing returns what a process of PD answers that does not run by its status, while PD cannot be asked.
func (w *Model) answersPing(i int) state.Answer {
	switch p := w.pods[pd][i]; {
	case !w.addressed(p) || w.reportedRunning(p):
		return state.NotAsked
	case w.unanswered(p):
		return state.NoAnswer
	case p.running:
		return state.Answered
	}
	return state.Refused
}

func (w *Model) observeMember(i int) state.Database {
	m := w.pd.memberAt(i)
	if !w.known() {
		return state.Database{Answer: w.answersPing(i)}
	}
	if m == nil {
		return state.Database{Presence: state.Absent}
	}
	d := state.Database{
		Presence: state.Present, ID: m.id, Unstarted: !m.started,
		Healthy: w.pinged(*m), Leader: m.id == w.pd.leader,
	}
	if p := w.pods[pd][i]; !d.Healthy && w.addressed(p) {
		d.Answer, d.Healthy = w.memberAnswers(*m, p), w.takesPart(*m)
	}
	if m.named {
		d.Name = w.names[pd][i]
	}
	switch p := w.pods[pd][i]; { // as in the status of the TidbCluster
	case d.Healthy:
	case w.lastUp[pd][i] != 0:
		d.Since = w.at(w.lastUp[pd][i])
	case p != nil:
		d.Since = w.at(p.made) // it was never observed healthy
	}
	return d
}

// storeAt finds the store that an ordinal stands for. It is the store that the member's data belongs to, else the
// newest store with the member's address that is no tombstone.
func (w *Model) storeAt(k kind, i int) *store {
	if c := w.claims[k][i]; c != nil && c.data != 0 {
		return w.store(c.data)
	}
	for j := len(w.stores) - 1; j >= 0; j-- {
		if s := w.stores[j]; s.k == k && s.ordinal == i && s.state != state.StoreTombstone {
			return s
		}
	}
	return nil
}

func (w *Model) observeStore(k kind, i int) state.Database {
	p := w.pods[k][i]
	if !w.storesKnown() {
		var d state.Database
		if w.addressed(p) && !w.reportedRunning(p) {
			d.Answer = w.storeAnswers(k, i)
		}
		return d
	}
	s := w.storeAt(k, i)
	if w.isUnlisted(s) || s == nil {
		return w.observeUnlisted(k, i)
	}
	shown := w.shownState(s)
	d := state.Database{
		Presence: state.Present, ID: s.id, State: shown,
		Healthy: shown == state.StoreUp, Evicting: w.t >= w.pd.loadedAt && w.evicts[s.id] != nil,
		Leaders: s.leaders * crowd, Regions: s.regions * crowd,
	}
	d.Capacity, d.Available = w.room(s)
	if p != nil && w.reportedRunning(p) {
		d.Healthy, d.New = w.heard(s, p), w.justRegistered(s, p)
	}
	w.askItself(k, i, &d, w.t-s.heartbeat > savedEvery)
	if !d.Healthy {
		d.Since = w.lastBeat(s)
	}
	return d
}

// askItself asks a store itself where PD's report is not enough. late is true where the last heartbeat is older than
// what PD saves of it.
func (w *Model) askItself(k kind, i int, d *state.Database, late bool) {
	p := w.pods[k][i]
	silent := !d.Healthy && d.State != state.StoreTombstone && (d.State != state.StoreOffline || late)
	switch {
	case !w.addressed(p) || d.State == state.StoreTombstone:
	case k.learns():
		w.askTiFlash(i, d)
	case d.Evicting || silent || !w.reportedRunning(p):
		w.askStore(i, d)
	}
}

// askTiFlash asks a TiFlash store itself whether it serves.
func (w *Model) askTiFlash(i int, d *state.Database) {
	if d.Answer = w.storeAnswers(tiflash, i); w.chance(w.Faults.NoAnswer) {
		d.Answer = state.NoAnswer
	}
	d.Listening = d.Answer == state.Refused && w.pods[tiflash][i].running
	if d.Answer == state.Answered && (d.State == state.StoreUp || w.awaited(tiflash, i, d)) {
		d.Healthy = true
	}
}

// askStore asks a store itself how many leaders it has. It also asks whether the store serves where PD does not
// report that. Only a store that serves knows its regions, so its answer is evidence where PD has heard of an
// earlier process only.
func (w *Model) askStore(i int, d *state.Database) {
	if d.Answer = w.storeAnswers(tikv, i); w.chance(w.Faults.NoAnswer) {
		d.Answer = state.NoAnswer
	}
	switch {
	case d.Answer == state.Answered && (d.State == state.StoreUp && d.Regions > 0 || w.awaited(tikv, i, d)):
		d.Healthy = true
	case d.Answer == state.NoAnswer, d.Answer == state.Refused && d.State == state.StoreUp:
		d.Leaders = -1
	}
}

func (w *Model) observeServer(k kind, i int) state.Database {
	if !w.addressed(w.pods[k][i]) {
		return state.Database{}
	}
	answer := w.portAnswers(k, i)
	if w.chance(w.Faults.NoAnswer) {
		answer = state.NoAnswer
	}
	switch answer {
	case state.Answered:
		d := state.Database{Presence: state.Present, Healthy: true, Answer: answer}
		if tells := tells[k]; tells != nil {
			tells(w, i, &d)
		}
		return d
	case state.Refused:
		return state.Database{Presence: state.Present, Answer: answer, Listening: w.pods[k][i].running}
	}
	return state.Database{Answer: answer}
}
