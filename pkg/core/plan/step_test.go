package plan_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// steps has at least one step of each kind, with its target. disruptive steps must be decided again
// on a live observation, and quiet steps are not reported.
var steps = []struct {
	step       plan.Step
	kind       topology.Kind
	member     string
	disruptive bool
	quiet      bool
}{
	{plan.Apply{Component: tikv}, tikv, "", false, false},
	{plan.Apply{}, "", "", false, false},
	{plan.Resize{Component: pd, From: 3, To: 4}, pd, "", false, false},
	{plan.Resize{Component: pd, From: 3, To: 3}, pd, "", false, false},
	{plan.Resize{Component: pd, From: 3, To: 2}, pd, "", true, false},
	{plan.Restart{Component: tidb, Member: "m"}, tidb, "m", true, false},
	{plan.Close{Component: tidb}, tidb, "", false, false},
	{plan.MoveLeader{From: "m", To: "n"}, pd, "m", true, false},
	{plan.RemoveMember{Member: "m"}, pd, "m", true, false},
	{plan.EvictLeaders{Member: "m"}, tikv, "m", false, false},
	{plan.LimitLeaderMoves{Limit: 1}, tikv, "", false, false},
	{plan.LimitLeaderMoves{Limit: 1, Again: true}, tikv, "", false, true},
	{plan.AdoptEviction{Member: "m"}, tikv, "m", false, false},
	{plan.AllowLeaders{Member: "m"}, tikv, "m", false, false},
	{plan.RemoveStore{Component: tikv, Member: "m"}, tikv, "m", true, false},
	{plan.RestoreStore{Component: tikv, Member: "m"}, tikv, "m", false, false},
	{plan.ForgetRecord{Component: tikv, Member: "m"}, tikv, "m", false, false},
	{plan.DrainCapture{Component: ticdc, Member: "m"}, ticdc, "m", false, false},
	{plan.ClosePump{Component: topology.Pump, Member: "m"}, topology.Pump, "m", true, false},
	{plan.DrainCapture{Component: ticdc, Member: "m", Again: true}, ticdc, "m", false, true},
	{plan.AdoptDrain{Component: ticdc, Member: "m"}, ticdc, "m", false, false},
	{plan.ForgetDrain{Component: ticdc, Member: "m"}, ticdc, "m", false, false},
	{plan.SetPassword{Component: tidb, Member: "m"}, tidb, "m", false, false},
	{plan.BeginDDLPause{Component: tidb, Member: "m"}, tidb, "m", false, false},
	{plan.EndDDLPause{Component: tidb, Member: "m"}, tidb, "m", false, false},
	{plan.EnableRules{Component: topology.TiFlash}, topology.TiFlash, "", false, false},
	{plan.MarkClaims{Component: pd, Member: "m"}, pd, "m", false, false},
	{plan.UnmarkClaims{Component: pd, Member: "m"}, pd, "m", false, false},
	{plan.DeleteClaim{Component: pd, Member: "m"}, pd, "m", true, false},
	{plan.DeletePod{Component: pd, Member: "m"}, pd, "m", true, false},
	{plan.ReplaceEnded{Component: pd, Member: "m"}, pd, "m", true, false},
	{plan.RemakePod{Component: pd, Member: "m"}, pd, "m", false, false},
	{plan.DeleteSet{Component: pd}, pd, "", true, false},
	{plan.RecordFailure{Component: pd, Member: "m"}, pd, "m", true, false},
	{plan.RetireFailure{Component: pd, Member: "m"}, pd, "m", false, false},
	{plan.ForgetFailure{Component: pd, Member: "m"}, pd, "m", false, false},
	{plan.ResizeClaim{Component: pd, Member: "m"}, pd, "m", false, false},
	{plan.RecreateSet{Component: pd}, pd, "", true, false},
	{plan.EndPause{By: "ann"}, "", "", true, false},
	{plan.Label{Component: pd, Member: "m"}, pd, "m", false, true},
	{plan.TendVolume{Component: pd, Member: "m"}, pd, "m", false, true},
	{plan.LabelStore{Component: tikv, Member: "m"}, tikv, "m", false, true},
}

func TestSteps(t *testing.T) {
	for _, c := range steps {
		kind, member := c.step.Target()
		if kind != c.kind || member != c.member {
			t.Errorf("%T is of %q %q, want %q %q", c.step, kind, member, c.kind, c.member)
		}
		if got := c.step.Disruptive(); got != c.disruptive {
			t.Errorf("%T %s: disruptive %t", c.step, c.step, got)
		}
		if got := c.step.Quiet(); got != c.quiet {
			t.Errorf("%T: quiet %t", c.step, got)
		}
	}
}

// TestActions: each step that is reported has its line in docs/events.md. Each line there is about
// a step that exists.
func TestActions(t *testing.T) {
	page, err := os.ReadFile("../../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Actions\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(table, -1) {
		documented = append(documented, row[1])
	}
	slices.Sort(documented)
	var actions []string
	listed := map[string]bool{}
	for _, c := range steps {
		listed[c.step.Action()] = true
		if !c.step.Quiet() {
			actions = append(actions, c.step.Action())
		}
	}
	slices.Sort(actions)
	if actions = slices.Compact(actions); !slices.Equal(actions, documented) {
		t.Errorf("documented are\n%q, and there are\n%q", documented, actions)
	}
	files, _ := filepath.Glob("*.go")
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range regexp.MustCompile(`(?m)^func \((\w+)\) step\(\)`).FindAllSubmatch(source, -1) {
			if !listed[string(method[1])] {
				t.Errorf("no example of %s", method[1])
			}
		}
	}
}
