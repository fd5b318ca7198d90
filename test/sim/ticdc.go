package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// captures is TiCDC as it is. It has the processes that are registered in PD, the owner among them, and the tables of
// each.
type captures struct {
	tables   int       // of all changefeeds
	all      []capture // in the order in which they stand for election
	owner    string    // "" while there is none
	electAt  int64
	draining string // the one that the owner moves tables off
	moveAt   int64  // when it moves the next one
	asked    int64  // when it was last asked to
	drains   []state.Drain
}

// capture is a process as PD has it. It stays there for a while when the process is killed.
type capture struct {
	id      string
	ordinal int
	tables  int
	ends    int64 // never unless its process has ended
}

// drains are the components whose members have to be without work before they are taken away.
var drains = [components]bool{ticdc: true}

const (
	captureTTL = 10  // how long a capture whose process was killed stays in PD
	electionOf = 4   // how long it takes until a new owner serves
	balances   = 120 // how long a capture that was drained stays without tables
)

var (
	errTiCDC   = errors.New("TiCDC does not answer")
	errNoOwner = errors.New("TiCDC has no owner")
)

// tickCaptures is one second of TiCDC.
func (w *Model) tickCaptures() {
	if w.TiCDC == 0 {
		return
	}
	w.register()
	if !w.serving() {
		return // what is in PD stays as it is
	}
	c := &w.cdc
	for _, o := range c.all {
		if w.t >= o.ends && o.tables > 0 {
			w.note("soft: %d tables of %s stood still", o.tables, w.names[ticdc][o.ordinal])
			w.Soft.TablesLost++
		}
	}
	c.all = slices.DeleteFunc(c.all, func(o capture) bool { return w.t >= o.ends })
	if c.capture(c.owner) == nil {
		if c.owner != "" || c.electAt == 0 {
			c.owner, c.draining, c.electAt = "", "", w.t+w.between(electionOf, 2*electionOf)
		}
		if w.t < c.electAt || len(c.all) == 0 {
			return
		}
		c.owner = c.all[0].id
	}
	w.moveTables()
}

// register adds processes that have begun to PD, and notices those that have ended.
func (w *Model) register() {
	c := &w.cdc
	for i, p := range w.pods[ticdc] {
		if w.captures(i) && w.serving() && c.capture(p.captureID()) == nil {
			c.all = append(c.all, capture{id: p.captureID(), ordinal: i, ends: never})
		}
	}
	for i := range c.all {
		o := &c.all[i]
		p := w.pods[ticdc][o.ordinal]
		switch {
		case w.works(p) && p.captureID() == o.id:
			o.ends = never
		case o.ends == never && p != nil && p.terminating() && p.lost <= w.t:
			o.ends = w.t + 1 // it takes itself off PD
		case o.ends == never:
			o.ends = w.t + captureTTL
		}
	}
}

// captureID is another one for each process.
func (p *pod) captureID() string { return fmt.Sprintf("%s@%d", p.uid, p.started) }

func (c *captures) capture(id string) *capture {
	for i := range c.all {
		if c.all[i].id == id {
			return &c.all[i]
		}
	}
	return nil
}

// moveTables is what the owner does. The owner gives tables that nobody has to captures, and balances the tables now
// and then. It moves tables off a capture that is drained, a single table at a time.
func (w *Model) moveTables() {
	c := &w.cdc
	if w.t < w.pd.idle {
		return
	}
	has := 0
	for _, o := range c.all {
		has += o.tables
	}
	for ; has < c.tables; has++ {
		w.fewest("").tables++
	}
	for ; has > c.tables; has-- {
		w.most().tables--
	}
	from := c.capture(c.draining)
	switch {
	case from != nil && from.tables > 0 && len(c.all) > 1 && w.t >= c.moveAt:
		from.tables--
		w.fewest(from.id).tables++
		c.moveAt = w.t + w.between(1, 6)
	case from == nil || w.t >= c.asked+balances:
		c.draining = ""
		if most, least := w.most(), w.fewest(""); most.tables > least.tables+1 {
			most.tables--
			least.tables++
		}
	}
}

// fewest is the capture with the fewest tables, except one where there are others.
func (w *Model) fewest(except string) *capture {
	var least *capture
	for i := range w.cdc.all {
		o := &w.cdc.all[i]
		if drained := o.id == except || o.id == w.cdc.draining; drained && len(w.cdc.all) > 1 {
			continue
		}
		if least == nil || o.tables < least.tables {
			least = o
		}
	}
	return least
}

func (w *Model) most() *capture {
	most := &w.cdc.all[0]
	for i := range w.cdc.all {
		if o := &w.cdc.all[i]; o.tables > most.tables {
			most = o
		}
	}
	return most
}

// captures reports whether a process of TiCDC sends changes.
func (w *Model) captures(i int) bool {
	p := w.pods[ticdc][i]
	return w.works(p) && w.t >= p.started+2
}

// captureOf is what PD has of the process of an ordinal.
func (w *Model) captureOf(i int) *capture {
	if p := w.pods[ticdc][i]; p != nil && p.running {
		return w.cdc.capture(p.captureID())
	}
	return nil
}

// ownerAnswers reports whether requests reach the owner of TiCDC.
func (w *Model) ownerAnswers() bool {
	o := w.cdc.capture(w.cdc.owner)
	return o != nil && o.ends == never && w.serving() && w.captures(o.ordinal)
}

// askCapture adds to a capture's answer what TiCDC says of it.
func (w *Model) askCapture(i int, d *state.Database) {
	if !d.Healthy {
		return
	}
	d.Version = w.Intent.Template[ticdc]
	own := w.captureOf(i)
	d.Capture = state.Capture{ID: w.pods[ticdc][i].captureID(), Feeds: state.FeedsUnknown}
	switch {
	case w.CannotDrain:
		d.Capture.Drains = state.CannotDrain
		return
	case !w.ownerAnswers() || w.chance(w.Faults.NoAnswer):
		return
	case own == nil:
		d.Healthy = false
		return
	}
	d.Capture.Drains, d.Capture.Leads, d.Capture.Owner = state.CanDrain, w.cdc.owner, w.cdc.owner == own.id
	for _, o := range w.cdc.all {
		if o.ordinal != i {
			d.Capture.Others++
		}
	}
	if d.Capture.Others == 0 {
		d.Capture.Feeds = min(w.cdc.tables, 1)
	}
}

// drainCapture writes the record first, as package act does, and its answer afterwards.
func (w *Model) drainCapture(s step.DrainCapture) error {
	i, _ := w.index(s.Component, s.Member)
	p := w.pods[ticdc][i]
	if p == nil || p.uid != s.PodUID {
		return errConflict
	}
	d := state.Drain{Member: s.Member, PodUID: s.PodUID, Capture: s.Capture, Since: w.Now(), Asked: w.Now(), Tables: state.TablesUnknown}
	if old, known := w.drainOf(s.Member); known && s.Again && old.PodUID == s.PodUID {
		d.Since = old.Since
		if old.Capture == s.Capture {
			d.Of, d.Most, d.Empty = old.Of, old.Most, old.Empty
		}
	}
	w.writeDrain(d)
	switch {
	case s.Capture == "":
		return nil
	case w.endsHalfWay():
		return errHalfWay
	case w.portAnswers(ticdc, i) != state.Answered:
		return errTiCDC
	case !w.ownerAnswers():
		return errNoOwner
	case w.cdc.capture(s.Capture) == nil, s.Owner != (w.cdc.owner == s.Capture):
		return errConflict
	}
	if d.Of != w.cdc.owner {
		d.Of, d.Most, d.Empty = w.cdc.owner, 0, time.Time{}
	}
	if s.Owner {
		d.Answer(state.TablesUnknown, d.Asked)
		w.resignOwner()
	} else if n := w.drainNow(s.Capture); w.chance(w.Faults.NoAnswer) {
		w.note("TiCDC is busy")
		d.Answer(state.TablesUnknown, d.Asked)
	} else {
		d.Answer(n, d.Asked)
	}
	w.writeDrain(d)
	return nil
}

// resignOwner makes the owner the last one in the election.
func (w *Model) resignOwner() {
	c := &w.cdc
	at := slices.IndexFunc(c.all, func(o capture) bool { return o.id == c.owner })
	resigned := c.all[at]
	c.all = append(slices.Delete(c.all, at, at+1), resigned)
	c.owner, c.draining, c.electAt = "", "", w.t+w.between(electionOf, 2*electionOf)
}

// drainNow has the owner move tables off a capture, and returns how many it has.
func (w *Model) drainNow(id string) int {
	c := &w.cdc
	if c.draining != id {
		c.draining, c.moveAt = id, w.t+1
	}
	c.asked = w.t
	return c.capture(id).tables
}

func (w *Model) drainOf(member string) (state.Drain, bool) {
	return state.Snapshot{Drains: w.cdc.drains}.Drain(member)
}

func (w *Model) writeDrain(d state.Drain) {
	w.forgetDrain(d.Member)
	w.cdc.drains = append(w.cdc.drains, d)
}

func (w *Model) forgetDrain(member string) {
	w.cdc.drains = slices.DeleteFunc(slices.Clone(w.cdc.drains), func(d state.Drain) bool { return d.Member == member })
}

// sightCaptures is the truth about TiCDC at the moment of an observation.
func (w *Model) sightCaptures(s *sighting) {
	for i := range limit {
		if o := w.captureOf(i); o != nil {
			s.tables[i], s.owns[i] = o.tables, w.cdc.owner == o.id
		}
	}
	s.takers, s.feeds = w.takers(), w.cdc.tables
}

// takers is how many captures there are that could take tables.
func (w *Model) takers() int {
	n := 0
	for _, o := range w.cdc.all {
		if o.ends == never && w.captures(o.ordinal) {
			n++
		}
	}
	return n
}

// judgeTables checks that a capture that serves is taken away without tables, and not as the owner. The
// exceptions are that no other capture can take both, and that the time for the drain is over.
func (w *Model) judgeTables(i int, say sayer) {
	own := w.captureOf(i)
	if own == nil || w.CannotDrain || !w.served(ticdc, i) {
		return
	}
	if d, ok := w.drainOf(w.names[ticdc][i]); ok && w.Now().Sub(d.Since) >= w.DrainTimeout {
		return
	}
	if min(w.takers(), w.seen.takers) < 2 {
		return
	}
	if w.seen.tables[i] > 0 && own.tables > 0 {
		say("tables", "%s has %d tables", w.names[ticdc][i], own.tables)
	}
	if w.seen.owns[i] && w.cdc.owner == own.id {
		say("tables", "%s is the owner of TiCDC", w.names[ticdc][i])
	}
}

// judgeFeeds checks that the last capture stays while there are changefeeds, unless the user wants them
// to stop.
func (w *Model) judgeFeeds(i int, say sayer) {
	if w.Eviction.StopFeeds || !w.served(ticdc, i) || w.captureOf(i) == nil {
		return
	}
	if max(w.takers(), w.seen.takers) < 2 && min(w.cdc.tables, w.seen.feeds) > 0 {
		say("feeds", "%s is the last capture", w.names[ticdc][i])
	}
}

// changeFeeds is a user who changes how many tables changefeeds send.
func (w *Model) changeFeeds(tables int) {
	w.note("user: changefeeds send %d tables", tables)
	w.cdc.tables = tables
}

// stopFeeds pauses the changefeeds, as a gate asks a person to do. Of a version that does not list them
// the engine has to be told.
func (w *Model) stopFeeds(g plan.Gate) {
	if !g.Blocked || g.Reason != plan.ChangefeedsServed {
		return
	}
	w.changeFeeds(0)
	i, _ := w.index(g.Component, g.Member)
	w.Eviction.StopFeeds = w.Eviction.StopFeeds || w.CannotDrain || !w.serves(ticdc, i)
}
