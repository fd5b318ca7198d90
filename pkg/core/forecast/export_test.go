package forecast

import (
	"maps"
	"slices"
)

// Steps returns the names of all steps that a forecast knows, as plan.Action has them.
func Steps() []string { return slices.Sorted(maps.Keys(effects)) }
