package pd

import (
	"errors"
	"reflect"
	"testing"
)

const rulesBody = `[
	{"group_id":"pd","group_index":0,"group_override":false,"rules":[
	 {"group_id":"pd","id":"default","start_key":"","end_key":"","role":"voter","is_witness":false,"count":3,
	  "location_labels":["zone","host"],"isolation_level":"zone","create_timestamp":1700000000}]},
	{"group_id":"TiDB_DDL_80","group_index":40,"group_override":true,"rules":[
	 {"group_id":"TiDB_DDL_80","id":"table_rule_80_0","index":40,"override":true,"start_key":"7480","end_key":"7481","role":"learner",
	  "is_witness":false,"count":1,"label_constraints":[{"key":"zone","op":"in","values":["a","b"]},{"key":"disk","op":"notExists"}]}]},
	{"group_id":"empty","group_index":1,"group_override":false,"rules":null}]`

func TestPlacementRules(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.answer("GET /pd/api/v1/config/placement-rule", rulesBody)
		got, err := c.PlacementRules(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := []RuleGroup{
			{ID: "pd", Rules: []PlacementRule{{ID: "default", Role: "voter", Count: 3, LocationLabels: []string{"zone", "host"}, IsolationLevel: "zone"}}},
			{ID: "TiDB_DDL_80", Index: 40, Override: true, Rules: []PlacementRule{{
				ID: "table_rule_80_0", Index: 40, Override: true, StartKey: "7480", EndKey: "7481", Role: "learner", Count: 1,
				Constraints: []LabelConstraint{{Key: "zone", Op: "in", Values: []string{"a", "b"}}, {Key: "disk", Op: "notExists"}},
			}}},
			{ID: "empty", Index: 1},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("PlacementRules() =\n%+v\nwant\n%+v", got, want)
		}
	})
}

// TestPlacementRuleWithoutCopies: a rule with a count of zero is an error.
func TestPlacementRuleWithoutCopies(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.answer("GET /pd/api/v1/config/placement-rule", `[{"group_id":"pd","rules":[{"id":"default","role":"voter"}]}]`)
		if got, err := c.PlacementRules(t.Context()); err == nil {
			t.Errorf("no error, %+v", got)
		}
	})
}

// TestPlacementRulesDisabled: PD's refusal is an answer, and the request is not repeated.
func TestPlacementRulesDisabled(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.fail("GET /pd/api/v1/config/placement-rule", 412, `"[PD:placement:ErrPlacementDisabled]placement rules feature is disabled"`)
		_, err := c.PlacementRules(t.Context())
		var status *StatusError
		if !errors.As(err, &status) || status.Code != 412 {
			t.Errorf("error %v", err)
		}
		if n := g.count("GET /pd/api/v1/config/placement-rule"); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}
