package sim

import "testing"

// TestSlotSeeds has users ask for other slots, also of members that are about to leave, to come back, to restart or to
// be replaced.
func TestSlotSeeds(t *testing.T) {
	r := runSeeds(t, *seeds/10, SlotSeed)
	r.report(t, "TestSlotSeeds", SlotSeed)
}
