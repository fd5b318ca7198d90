package sim

import (
	"fmt"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Violation is a rule that was broken.
type Violation struct {
	Rule string // see the package's documentation
	At   string // simulated time
	What string
}

func (v Violation) String() string { return fmt.Sprintf("%s %s: %s", v.At, v.Rule, v.What) }

// Soft counts what is not wrong but not good either.
type Soft struct {
	Steps           int
	Restarts        int // of members that were up
	Together        int // of these, while another member of the batch was down
	WithLeaders     int // stores restarted with leaders, and no time that somebody has set for that was over
	LeaderMoves     int
	LeaderMovesOver int // more than there were restarts and removals of PD leaders
	LeadersTaken    int // restarts and removals of PD members that had led
	LeadersKilled   int // PD leaders restarted or removed though another could lead
	VotersRushed    int // voters added while others were missing
	Needless        int // restarts of members that were of the wanted revision
	HealedMeanwhile int // restarts of members that came up between observation and step
	Failovers       int // members that were given up
	TablesLost      int // captures that ended while they had tables, by a step of ours or by a fault
	TooLate         int // steps that came late and changed nothing, since another process had changed the StatefulSet
}

// sighting is the truth at the moment of an observation.
type sighting struct {
	at       int64
	live     bool
	acted    bool // a disruptive step was taken since
	intent   Intent
	serves   [components][limit]bool
	inSight  [components][limit]bool
	leaders  [limit]int               // on the store of an ordinal
	owner    [limit]uint64            // the store of an ordinal
	zones    [limit]int               // by the label of its store
	batches  bool                     // the user has asked for several at a time
	lastUp   [components][limit]int64 // when a member served last
	gone     [components][limit]bool  // the database has removed it
	spoiled  [components]bool         // its certificate is not accepted
	hidden   [components][limit]bool  // it cannot be known whether it serves
	revision [components][limit]string
	refused  [components]bool // PD takes no stores of it
	outdated [components]bool // a pod has yet to be replaced, or a template to be applied
	quorum   bool
	leader   uint64
	alive    int
	members  [limit]bool             // is a PD member
	stores   [components][limit]bool // has a store that is not a tombstone
	upStores int
	asks     int                     // how many replicas tables ask for in TiFlash
	up       map[uint64]bool         // stores that are neither Offline nor tombstones, those elsewhere included
	full     map[uint64]bool         // stores whose disks are nearly full
	open     [components][limit]bool // PD puts regions onto its store
	there    [components]bool        // a StatefulSet or a pod is there
	marked   [components][limit]bool
	going    [components][limit]bool // its claim is being deleted
	replaces [components][limit]bool // the user has asked for its replacement
	evicts   map[uint64]bool         // stores with a scheduler of ours
	byHand   []uint64                // stores that a person has taken offline
	serving  bool                    // PD serves and reports its stores
	kept     bool                    // PD is set to evict no leaders
	records  []record                // of evictions
	failures [components][]topology.Failure
	tables   [limit]int  // of captures of TiCDC
	owns     [limit]bool // it is the owner of TiCDC
	takers   int         // captures that could take tables
	// elsewhere are the stores of another cluster that serve, or do so by all reports.
	elsewhere map[uint64]bool
	feeds     int         // how many tables changefeeds send
	pumps     int         // Pumps that take binlog, or did so a few seconds before
	unread    [limit]bool // drainers wait for what the ordinal of Pump has
}

func (w *Model) sight() sighting {
	s := sighting{asks: w.asks, at: w.t, lastUp: w.lastUp, intent: w.Intent, failures: w.failures, quorum: w.hasQuorum(), leader: w.pd.leader, alive: w.aliveMembers()}
	s.kept, s.records = w.keepsLeaders(), slices.Clone(w.ledger)
	s.serving, s.evicts = w.serving() && w.storesKnown(), map[uint64]bool{}
	for id, e := range w.evicts {
		s.evicts[id] = e.ours
	}
	for _, o := range w.stores {
		if o.byHand {
			s.byHand = append(s.byHand, o.id)
		}
	}
	s.elsewhere, s.full, s.up = w.sightElsewhere(), w.storesThat(w.full), w.storesThat((*store).isUp)
	for _, o := range w.stores {
		if o.state == state.StoreUp && s.elsewhere[o.id] {
			s.upStores++
		}
	}
	s.batches = w.Concurrency.Batches()
	w.sightMembers(&s)
	w.sightCaptures(&s)
	s.pumps = w.onlineInPD()
	for i := range limit {
		s.unread[i], s.zones[i] = w.unread(i), w.zone(i)
		s.members[i] = w.pd.memberAt(i) != nil
		for _, k := range storeKinds {
			s.open[k][i], s.stores[k][i] = w.open(k, i), w.storeOf(k, i) != nil
		}
		own := w.ownStore(i)
		if own != nil {
			s.leaders[i], s.owner[i] = own.leaders, own.id
		}
		if (s.serves[tikv][i] || s.inSight[tikv][i]) && own.state == state.StoreUp {
			s.upStores++
		}
	}
	return s
}

func (w *Model) sightMembers(s *sighting) {
	s.refused[tiflash] = w.flash.off
	for k := range kinds {
		set := &w.sets[k]
		s.there[k], s.spoiled[k] = w.there(kind(k)), w.uncertified(kind(k))
		s.outdated[k] = set.exists && asked(set.spec.template) != w.Intent.Template[k]
		for i := range limit {
			s.serves[k][i], s.inSight[k][i] = w.serves(kind(k), i), w.inSight(kind(k), i)
			s.gone[k][i], s.hidden[k][i] = w.gone(kind(k), i), w.unknowable(kind(k), i)
			s.marked[k][i] = w.claims[k][i] != nil && w.claims[k][i].marked
			s.going[k][i], s.replaces[k][i] = w.going(kind(k), i), w.replaces(kind(k), i)
			if p := w.pods[k][i]; p != nil {
				s.revision[k][i] = p.revision
				s.outdated[k] = s.outdated[k] || set.spec.has(i) && p.revision != set.spec.template && p.mounts == set.spec.mounts
			}
		}
	}
}

// ownStore is the living store of the data that an ordinal of TiKV has now.
func (w *Model) ownStore(i int) *store { return w.storeOf(tikv, i) }

// storeOf is the same for a component.
func (w *Model) storeOf(k kind, i int) *store {
	c := w.claims[k][i]
	if c == nil || c.data == 0 || k.data() != topology.Store {
		return nil
	}
	if s := w.store(c.data); s.state != state.StoreTombstone {
		return s
	}
	return nil
}

func (w *Model) broke(rule, format string, args ...any) {
	v := Violation{Rule: rule, At: w.clock(), What: fmt.Sprintf(format, args...)}
	w.note("VIOLATION %s: %s", v.Rule, v.What)
	w.Broken = append(w.Broken, v)
}

// judge returns the rules that a step would break, before it is taken. They are broken
// only if the step succeeds: an Actor that refuses the step prevents that.
func (w *Model) judge(next step.Step) []Violation {
	var out []Violation
	say := func(rule, format string, args ...any) {
		out = append(out, Violation{Rule: rule, What: fmt.Sprintf(format, args...)})
	}
	w.Soft.Steps++
	w.judgeLook(next, say)
	w.judgePaused(next, say)
	w.judgeLease(say)
	switch s := next.(type) {
	case step.Restart:
		w.judgeRestart(s, say)
	case step.RemoveMember:
		if w.pd.member(s.ID) == nil {
			break // it is gone already, and the member in its place has another id
		}
		i, _ := w.index(kinds[pd], s.Member)
		w.judgeRemoval(pd, i, s.ID, say)
		w.judgeQuorum(i, len(w.pd.members)-1, say)
		w.countLeader(i)
	case step.RemoveStore:
		if o := w.store(s.StoreID); o == nil || o.state != state.StoreUp {
			break // it leaves already
		}
		k := kindOf(s.Component)
		i, _ := w.index(s.Component, s.Member)
		w.judgeRemoval(k, i, s.StoreID, say)
		w.judgeRoom(k, i, say)
		if k.learns() {
			w.judgeLearners(i, say)
			break
		}
		w.judgeCopies(i, s.StoreID, say)
		w.judgePlaces(i, say)
	case step.RestoreStore:
		w.judgeReversed(s, say)
	case step.Resize:
		w.judgeResize(s, say)
	case step.ClosePump:
		w.judgeClose(s, say)
	case step.DeleteClaim:
		w.judgeClaim(s, say)
	case step.ReplaceEnded:
		w.judgeEnded(s, say)
	case step.DeletePod:
		w.judgePod(s, say)
	case step.RecreateSet:
		w.judgeRecreate(s, say)
	case step.AllowLeaders:
		w.judgeAllow(s, say)
	case step.DeleteSet:
		w.judgeSuspend(s, say)
	case step.RecordFailure:
		w.judgeFailure(s, say)
	}
	return out
}

func (w *Model) judgeLook(s step.Step, say sayer) {
	w.judgeOperator(s, say)
	if !s.Disruptive() {
		return
	}
	if !w.seen.live || w.seen.acted {
		say("look", "live %t, another step before it %t", w.seen.live, w.seen.acted)
	}
	w.seen.acted = true
}

func (w *Model) judgeAllow(s step.AllowLeaders, say sayer) {
	r, known := w.recordOf(s.StoreID)
	if e := w.evicts[s.StoreID]; known && e != nil && !e.ours && !r.theirs {
		say("theirs", "another user made the scheduler of store %d", s.StoreID)
	}
}

func (w *Model) blame(next step.Step, found []Violation) {
	w.noteTaken(next)
	for _, v := range found {
		w.broke(v.Rule, "%s: %s", next, v.What)
	}
	if s, ok := next.(step.EvictLeaders); ok {
		w.judgeLimit(s)
		w.checkEvictions(next)
	}
}

type sayer func(rule, format string, args ...any)

// wantedBoth reports whether the user wanted the ordinal when the engine observed and
// wants it now.
func (w *Model) wantedBoth(k kind, i int) bool {
	return w.seen.intent.wants(k, i) && w.Intent.wants(k, i)
}

// gone reports whether the database has removed the member for good: it never serves again.
func (w *Model) gone(k kind, i int) bool {
	if k.data() == topology.Raft && w.pd.memberAt(i) == nil && w.failure(k, w.names[k][i]) != nil {
		return true // it was given up, and can come back with a new id
	}
	c := w.claims[k][i]
	if c == nil || c.data == 0 {
		return false
	}
	return k.data() == topology.Store && w.storeOf(k, i) == nil || k.data() == topology.Raft && w.pd.member(c.data) == nil
}

func (w *Model) judgeWanted(k kind, i int, say sayer) {
	if w.wantedBoth(k, i) && !w.seen.replaces[k][i] && !w.replaces(k, i) {
		say("wanted", "the user wants %s", w.names[k][i])
	}
}

// judgeQuorum checks that PD has a majority, of size members, without the member of the ordinal.
func (w *Model) judgeQuorum(i, size int, say sayer) {
	m := w.pd.memberAt(i)
	if m == nil || !w.seen.quorum || !w.hasQuorum() {
		return
	}
	left := max(w.aliveMembers(), w.seen.alive)
	if w.alive(*m) {
		left--
	}
	if left < size/2+1 {
		say("quorum", "%d of %d members would be alive", left, size)
	}
}

// judgeReason checks that a rollout restarts the member, or that the user has named it.
func (w *Model) judgeReason(s step.Restart, say sayer) {
	k, i := kindOf(s.Component), w.numberOf(s.Ordinal)
	p, set := w.pods[k][i], &w.sets[k]
	if s.Revision != "" && (!set.spec.batches || w.isNamed(k, i)) {
		w.judgeNamed(s, say)
		return
	}
	w.judgeCanary(k, i, say)
	w.judgeAsked(k, i, say)
	if p != nil && p.revision == set.update && set.observed == set.generation {
		w.Soft.Needless++
	}
}

func (w *Model) judgeRestart(s step.Restart, say sayer) {
	k, i := kindOf(s.Component), w.numberOf(s.Ordinal)
	p := w.pods[k][i]
	w.judgeCertificate(k, i, say)
	w.judgeReason(s, say)
	w.judgeMounts(k, i, say)
	if w.dataBeingDeleted(k, i) && p != nil {
		say("data", "%s loses its data with its pod, and PD counts on it", w.names[k][i])
	}
	if !w.served(k, i) {
		w.judgeRepair(k, i, say)
		return
	}
	w.Soft.Restarts++
	w.judgeLoss(k, i, say)
	w.countTogether(k, i)
	for _, e := range rollouts[:slices.Index(rollouts[:], k)] {
		if w.seen.outdated[e] && !w.seen.refused[e] && w.seen.intent.Template[e] == w.Intent.Template[e] {
			say("order", "%s has pods to replace first", kinds[e].Title())
		}
	}
	switch k.data() {
	case topology.Raft:
		if n := len(w.pd.members); n > 2 {
			w.judgeQuorum(i, n, say)
		}
		w.countLeader(i)
	case topology.Store:
		if k.leads() {
			w.judgeLeaders(i, say)
			w.judgeRegions(i, say)
		}
	case topology.None:
		if drains[k] {
			w.judgeTables(i, say)
		}
	}
}

// quorumSeen reports whether PD had a quorum and had elected a leader when the engine looked. The quorum has a member
// here that serves. A quorum of members elsewhere cannot be asked from here, and one that has just come back serves
// nobody yet.
func (w *Model) quorumSeen() bool {
	return w.seen.quorum && slices.Contains(w.seen.serves[pd][:], true) && w.t-w.pd.ledAt <= election
}

// judgeRepair checks that a member that may come back does not get a revision that is
// known to fail. One whose own revision never serves does not come back.
func (w *Model) judgeRepair(k kind, victim int, say sayer) {
	set := &w.sets[k]
	f := flaw(set.update)
	if f == crashing && k.data() == topology.Raft && !w.quorumSeen() {
		f = "" // a working one would fail as well
	}
	has := w.seen.revision[k][victim]
	neverServes := slices.Contains([]string{deaf, crashing, noImage}, flaw(has))
	if f != noImage && f != crashing || w.gone(k, victim) || has != set.current || neverServes {
		return
	}
	for i := range set.spec.each() {
		if i != victim && w.seen.revision[k][i] == set.update && w.failsByItself(k, i) {
			say("doubtful", "%s fails on %s", w.names[k][i], set.update)
		}
	}
}

// failsByItself reports whether a member was removed, so that it fails with any revision.
func (w *Model) failsByItself(k kind, i int) bool {
	c := w.claims[k][i]
	removed := c != nil && c.marked || w.gone(k, i)
	return !removed && w.missing(k, i)
}

// next is the ordinal to be restarted next, -1 if there is none.
func (w *Model) next(k kind) int {
	for i := range w.sets[k].spec.fromTop() {
		if p := w.pods[k][i]; p != nil && p.revision != w.sets[k].spec.template {
			return i
		}
	}
	return -1
}
