package state

import "cmp"

const (
	// lowSpaceRatio is the default of PD's schedule.low-space-ratio.
	lowSpaceRatio = 0.8

	// A store with fewer regions and more free space than this is not nearly full for PD, whatever the share. See
	// tikv/pd, pkg/core/store.go: initialMaxRegionCounts and initialMinSpace.
	fewRegions  = 30
	enoughSpace = 8 << 30
)

// LowSpace reports whether the disk of a store is nearly full for PD, so that PD puts no more regions onto the store.
// The store serves the regions that it has. A store whose size is not known is not nearly full.
func (pd PD) LowSpace(s Store) bool {
	if s.Capacity <= 0 || s.Regions < fewRegions && s.Available > enoughSpace {
		return false
	}
	return float64(s.Available)/float64(s.Capacity) < 1-cmp.Or(pd.Scheduling.LowSpaceRatio, lowSpaceRatio)
}
