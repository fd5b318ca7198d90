package state

import "time"

// Isolation is what PD reports of where the copies of regions are. PD counts while PD goes through all regions, and
// copies the counts to its metrics every ten seconds. So the counts are up to one such pass old.
type Isolation struct {
	// Unread says why nothing is known. It is "" where PD has answered, or where nobody needs to know.
	Unread string
	// Regions is how many regions there are.
	Regions int
	// Apart is how many regions have copies that differ in a location label, and in no wider one. Regions with two copies
	// that differ in no location label are counted under "none". Copies in TiFlash do not count.
	Apart map[string]int
	// Unsound is how many regions lack a copy, or have a copy that is down, behind, or on a store that leaves. The keys
	// are PD's words, such as "miss-peer".
	Unsound map[string]int
	// Moving is how many regions have more copies than they should, because PD moves a copy. Meanwhile two copies of such
	// a region may be in the same place.
	Moving int
	// Pass is how long PD takes to go through all regions; zero where PD does not report it.
	Pass time.Duration
	// LabelsSince is since when this process has observed the same labels of the same stores.
	LabelsSince time.Time
}

// NotApart returns how many regions have two copies in the same place, by a location label and all wider ones.
func (i Isolation) NotApart(locations []string, label string) int {
	n := 0
	for at, regions := range i.Apart {
		if !IsWithin(locations, at, label) {
			n += regions
		}
	}
	return n
}

// IsWithin reports whether a location label is the label of or a wider one.
func IsWithin(locations []string, label, of string) bool {
	for _, l := range locations {
		switch l {
		case label:
			return true
		case of:
			return false
		}
	}
	return false
}

// Counted returns how many regions PD has counted.
func (i Isolation) Counted() int {
	n := 0
	for _, regions := range i.Apart {
		n += regions
	}
	return n
}
