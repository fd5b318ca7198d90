package plan

import "github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"

// EnableRules has PD place copies by its placement rules, and records that. It is done once: a person who
// disables them afterwards has a reason, and the two would go on for ever.
type EnableRules struct {
	Component topology.Kind // the one that needs them
}

func (EnableRules) step() {}

func (s EnableRules) Target() (topology.Kind, string) { return s.Component, "" }

func (s EnableRules) String() string { return "enable placement rules in PD" }
