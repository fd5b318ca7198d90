package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// String describes what the rules ask for, and which stores there are for them.
func (s Shortage) String() string {
	if len(s.Rules) > 1 {
		return s.rulesTogether()
	}
	r := s.Rules[0]
	asks := fmt.Sprintf("placement rule %s asks for %s of each region", r.Name(), remedy.Count(r.Count, "copy", "copies"))
	if r.Configured {
		asks = fmt.Sprintf("PD keeps max-replicas=%d copies of each region", r.Count)
	}
	if len(r.Tables) > 0 {
		return s.ofTables(r)
	}
	on := constraints(r)
	if on != "" {
		asks += " on stores with " + on
	}
	switch {
	case s.isolated():
		return fmt.Sprintf("%s, no two in the same %s (isolation-level), and the other stores are only in %s %s",
			asks, r.IsolationLevel, r.IsolationLevel, strings.Join(s.Places, ", "))
	case s.Stores == 0:
		return asks + ", and there is no other such store"
	case s.Stores == 1:
		return asks + ", and there is only 1 other such store"
	}
	return fmt.Sprintf("%s, and there are only %d other such stores", asks, s.Stores)
}

// ofTables names the tables that ask for replicas in TiFlash, the first few of them.
func (s Shortage) ofTables(r state.PlacementRule) string {
	names, ask := make([]string, 0, namedTables), "asks"
	for _, t := range r.Tables[:min(len(r.Tables), namedTables)] {
		names = append(names, t.String())
	}
	if more := len(r.Tables) - len(names); more > 0 {
		names = append(names, remedy.Count(more, "other table", "other tables"))
	}
	if len(r.Tables) > 1 {
		ask = "ask"
	}
	stores := "there is no other TiFlash store"
	if s.Stores > 0 {
		stores = fmt.Sprintf("there is only %s", remedy.Count(s.Stores, "other TiFlash store", "other TiFlash stores"))
	}
	if s.Stores > 1 {
		stores = strings.Replace(stores, "there is", "there are", 1)
	}
	return fmt.Sprintf("%s %s for %s, and %s", strings.Join(names, ", "), ask, remedy.Count(r.Count, "TiFlash replica", "TiFlash replicas"), stores)
}

// namedTables is how many tables are named.
const namedTables = 3

func (s Shortage) rulesTogether() string {
	names, sum := make([]string, len(s.Rules)), 0
	for i, r := range s.Rules {
		names[i], sum = r.Name(), sum+r.Count
	}
	return fmt.Sprintf("placement rules %s ask together for %s of a region, each on another store, and only %s what they ask for",
		strings.Join(names, " and "), remedy.Count(sum, "copy", "copies"), remedy.Count(s.Stores, "other store is", "other stores are"))
}

// constraints describes which labels a rule asks for, "" when it accepts all
// stores.
func constraints(r state.PlacementRule) string {
	words := make([]string, len(r.Constraints))
	for i, c := range r.Constraints {
		words[i] = constraint(c)
	}
	return strings.Join(words, " and ")
}

func constraint(c state.LabelConstraint) string {
	values := strings.Join(c.Values, ",")
	switch {
	case c.Op == "in" && len(c.Values) == 1:
		return c.Key + "=" + values
	case c.Op == "in":
		return fmt.Sprintf("%s in (%s)", c.Key, values)
	case c.Op == "notIn" && len(c.Values) == 1:
		return c.Key + "!=" + values
	case c.Op == "notIn":
		return fmt.Sprintf("%s not in (%s)", c.Key, values)
	case c.Op == "notExists":
		return "no label " + c.Key
	}
	return "a label " + c.Key
}

// Help returns what a person can do: have more stores, or change the rule to ask for less. pdCtl makes
// a command of arguments for pd-ctl.
func (s Shortage) Help(pdCtl func(words string) remedy.Command) remedy.Remedy {
	var more remedy.Remedy
	switch {
	case len(s.Rules[0].Tables) > 0:
		more = remedy.Remedy{remedy.Say("ask for more replicas of TiFlash")}
	case s.where() == "":
		more = remedy.Remedy{remedy.Say("add a TiKV store")}
	}
	return append(more, s.HelpBesides(pdCtl)...)
}

// HelpBesides returns what a person can do besides having more stores, wherever those are. It is for a
// text that already says how many stores are needed.
func (s Shortage) HelpBesides(pdCtl func(words string) remedy.Command) remedy.Remedy {
	r := s.Rules[0]
	if len(r.Tables) > 0 {
		return s.fewerReplicas(r)
	}
	var help remedy.Remedy
	if where := s.where(); where != "" {
		help = append(help, remedy.Say("add a TiKV store "+where))
	}
	return append(help, s.loosen(r, pdCtl))
}

// where returns where another store has to be to help the rule, "" where any will do.
func (s Shortage) where() string {
	r := s.Rules[0]
	on := constraints(r)
	switch {
	case s.isolated():
		return "in another " + r.IsolationLevel
	case on != "":
		return "with " + on
	}
	return ""
}

// fewerReplicas returns how tables are changed to ask for less.
func (s Shortage) fewerReplicas(r state.PlacementRule) remedy.Remedy {
	var help remedy.Remedy
	for _, t := range r.Tables[:min(len(r.Tables), namedTables)] {
		if t.Name != "" {
			help = append(help, remedy.Say(fmt.Sprintf("have the table ask for less, in SQL: ALTER TABLE %s SET TIFLASH REPLICA %d", t.Name, s.Stores)))
		}
	}
	return append(help, remedy.Say("see all such tables in SQL: SELECT * FROM information_schema.tiflash_replica"))
}

// loosen returns how to change the rule to ask for less.
func (s Shortage) loosen(r state.PlacementRule, pdCtl func(words string) remedy.Command) remedy.Action {
	switch {
	case r.Configured && s.isolated():
		noLevel := pdCtl("config set isolation-level")
		noLevel.Args = append(noLevel.Args, "")
		return remedy.Run("have copies share a "+r.IsolationLevel, noLevel)
	case r.Configured:
		return remedy.Run("keep fewer copies", pdCtl(fmt.Sprintf("config set max-replicas %d", s.Stores)))
	case slices.ContainsFunc(s.Rules, func(r state.PlacementRule) bool { return strings.HasPrefix(r.Group, "TiDB_DDL_") }):
		return remedy.Say("change the placement policy in SQL (see SHOW PLACEMENT, then ALTER PLACEMENT POLICY)")
	}
	save := pdCtl("config placement-rules save --in=/dev/stdin").Reading("rules.json")
	save.Args = slices.Insert(save.Args, 1, "-i")
	show := pdCtl("config placement-rules show").Writing("rules.json")
	show.Args = append(show.Args, "--group="+r.Group)
	return remedy.Run("change the rule", show, remedy.Edit("rules.json"), save)
}
