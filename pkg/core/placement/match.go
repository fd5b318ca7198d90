package placement

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// Matches reports whether a rule lets PD put copies on a store. A store with an
// exclusive label, such as engine=tiflash, is only for rules that name this label.
func Matches(rule state.PlacementRule, s state.Store) bool {
	for key := range s.Labels {
		if exclusive(key) && !slices.ContainsFunc(rule.Constraints, func(c state.LabelConstraint) bool { return c.Key == key }) {
			return false
		}
	}
	for _, c := range rule.Constraints {
		if !holds(c, label(s, c.Key)) {
			return false
		}
	}
	return true
}

// exclusive reports whether stores with such a label are kept for rules that name it. Such labels
// are engine, exclusive, and all that begin with $.
func exclusive(key string) bool {
	return key == "engine" || key == "exclusive" || strings.HasPrefix(key, "$")
}

// holds reports whether a label's value is what a constraint asks for. For PD an empty value is a
// missing label.
func holds(c state.LabelConstraint, value string) bool {
	switch c.Op {
	case "in":
		return value != "" && slices.Contains(c.Values, value)
	case "notIn":
		return value == "" || !slices.Contains(c.Values, value)
	case "exists":
		return value != ""
	case "notExists":
		return value == ""
	}
	return false
}

// label is the value of a store's label, "" when it has none. PD does not distinguish upper and
// lower case in keys.
func label(s state.Store, key string) string {
	if value, ok := s.Labels[key]; ok {
		return value
	}
	for k, value := range s.Labels {
		if strings.EqualFold(k, key) {
			return value
		}
	}
	return ""
}

// isolates reports whether a rule wants no two of its copies in the same place.
func isolates(rule state.PlacementRule) bool {
	return rule.IsolationLevel != "" && len(rule.LocationLabels) > 0
}

// place returns the place of a store for a rule that isolates. The place has the values of the
// location labels down to the isolation level. A missing label counts as a value too.
func place(rule state.PlacementRule, s state.Store) string {
	// PD uses the widest location label if the level is not one of them.
	level := max(slices.Index(rule.LocationLabels, rule.IsolationLevel), 0)
	values := make([]string, level+1)
	for i, key := range rule.LocationLabels[:level+1] {
		values[i] = cmp.Or(label(s, key), "(none)")
	}
	return strings.Join(values, "/")
}
