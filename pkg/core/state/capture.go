package state

import "time"

// Capture is what TiCDC says about a member, and about TiCDC as a whole. Every member gives the answer of the
// owner.
type Capture struct {
	ID string // "" while it is not known
	// Owner: it gives tables to the captures.
	Owner bool
	// Drains says whether the captures can be asked for, and one of them be drained.
	Drains Drains
	// Leads is the id of the owner, "" while there is none and where it is not known.
	Leads string
	// Others is how many other captures there are.
	Others int
	// Feeds is how many changefeeds run, FeedsUnknown where that is not known. It is only read where
	// there is no other capture.
	Feeds int
}

// FeedsUnknown is the number of changefeeds where it could not be read.
const FeedsUnknown = -1

// Drains says what is known of a capture's part in TiCDC.
type Drains int

// What is known.
const (
	// DrainsUnknown: TiCDC did not answer, for example since it has no owner at the moment.
	DrainsUnknown Drains = iota
	// CannotDrain: this version has no such request.
	CannotDrain
	// CanDrain: the captures are known, and the member's capture is among them.
	CanDrain
)

// Drain is a record that we asked TiCDC to take all tables off a capture. TiCDC does not show that.
type Drain struct {
	Member string // the pod's name
	PodUID string
	// Capture is the one that it was asked for, and Of the owner that was asked. Another owner does not
	// know of it.
	Capture, Of string
	Since       time.Time // when we began
	// Asked is when we last asked: one that nobody continues has ended.
	Asked time.Time
	// Tables is how many were left then, TablesUnknown where TiCDC did not say.
	Tables int
	// Most is the highest number that TiCDC has answered. Empty is since when each of its answers was 0; zero where
	// the last answer was another number. A single answer of 0 proves nothing: it may come before tables are counted.
	// The new architecture of TiCDC answers 0 at once, and moves nothing.
	Most  int
	Empty time.Time
	// Refused: this version cannot do it.
	Refused bool
}

// Answer notes what TiCDC answered now.
func (d *Drain) Answer(tables int, at time.Time) {
	d.Tables, d.Most = tables, max(d.Most, tables)
	switch {
	case tables != 0:
		d.Empty = time.Time{}
	case d.Empty.IsZero():
		d.Empty = at
	}
}

// TablesUnknown is the number of tables of a capture where TiCDC did not report it.
const TablesUnknown = -1

// Drain returns our record for a member.
func (s Snapshot) Drain(member string) (Drain, bool) {
	for _, d := range s.Drains {
		if d.Member == member {
			return d, true
		}
	}
	return Drain{}, false
}
