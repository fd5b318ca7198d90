package pd

import (
	"context"
	"fmt"
	"net/http"
)

// RuleGroup is a group of placement rules, by which PD places copies of regions.
type RuleGroup struct {
	ID string `json:"group_id"`
	// Index orders the groups. Override disables the groups before this one.
	Index    int             `json:"group_index"`
	Override bool            `json:"group_override"`
	Rules    []PlacementRule `json:"rules"`
}

// PlacementRule asks for a number of copies of each region in a range of keys.
type PlacementRule struct {
	ID string `json:"id"`
	// Index orders the rules of a group. Override disables the rules before this one.
	Index    int  `json:"index"`
	Override bool `json:"override"`
	// StartKey and EndKey are the range in hexadecimal digits. An empty EndKey is the end of all keys.
	StartKey       string            `json:"start_key"`
	EndKey         string            `json:"end_key"`
	Role           string            `json:"role"` // voter, leader, follower or learner
	Count          int               `json:"count"`
	Constraints    []LabelConstraint `json:"label_constraints"`
	LocationLabels []string          `json:"location_labels"`
	IsolationLevel string            `json:"isolation_level"`
}

// LabelConstraint is a condition of a rule on a store's label. Op is in, notIn, exists or notExists.
type LabelConstraint struct {
	Key    string   `json:"key"`
	Op     string   `json:"op"`
	Values []string `json:"values"`
}

// PlacementRules implements Client. The rules and their groups are read in one request, since a group may override
// other groups. The library's types refuse keys that are not encoded as TiDB does it, but PD accepts them. There may
// be thousands of rules, so one request may take longer than others.
func (c *client) PlacementRules(ctx context.Context) ([]RuleGroup, error) {
	const op = "list placement rules"
	var groups []RuleGroup
	err := c.callWithin(ctx, op, patience*c.attempt, func(ctx context.Context, m member) error {
		groups = nil
		return m.raw(ctx, request{method: http.MethodGet, path: pathRuleBundle, out: &groups})
	})
	if err != nil {
		return nil, err
	}
	all := 0
	for _, g := range groups {
		if all += len(g.Rules); all > maxRules {
			return nil, fmt.Errorf("%s: %w", op, atMost(maxRules, all, "rules"))
		}
		for _, r := range g.Rules {
			if r.Count < 1 {
				// With a count of zero every store could be removed.
				return nil, fmt.Errorf("%s: PD answered count %d for rule %s of group %s", op, r.Count, r.ID, g.ID)
			}
		}
	}
	return groups, nil
}
