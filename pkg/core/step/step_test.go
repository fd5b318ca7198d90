package step_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

const (
	pd    = topology.PD
	tikv  = topology.TiKV
	ticdc = topology.TiCDC
	tidb  = topology.TiDB
)

// steps has at least one step of each kind, with its target. disruptive steps must be decided again
// on a live observation, and quiet steps are not reported.
var steps = []struct {
	step       step.Step
	kind       topology.Kind
	member     string
	disruptive bool
	quiet      bool
}{
	{step.Apply{Component: tikv}, tikv, "", false, false},
	{step.Apply{}, "", "", false, false},
	{step.Resize{Component: pd, From: 3, To: 4}, pd, "", false, false},
	{step.Resize{Component: pd, From: 3, To: 3}, pd, "", false, false},
	{step.Resize{Component: pd, From: 3, To: 2}, pd, "", true, false},
	{step.Restart{Component: tidb, Member: "m"}, tidb, "m", true, false},
	{step.Close{Component: tidb}, tidb, "", false, false},
	{step.BeginBatches{Component: tikv}, tikv, "", false, false},
	{step.EndBatches{Component: tikv}, tikv, "", false, false},
	{step.MoveLeader{From: "m", To: "n"}, pd, "m", true, false},
	{step.MovePrimary{Component: topology.TSO, From: "m", To: "n"}, topology.TSO, "m", true, false},
	{step.RemoveMember{Member: "m"}, pd, "m", true, false},
	{step.EvictLeaders{Member: "m"}, tikv, "m", false, false},
	{step.LimitLeaderMoves{Limit: 1}, tikv, "", false, false},
	{step.LimitLeaderMoves{Limit: 1, Again: true}, tikv, "", false, true},
	{step.HoldRegions{}, tikv, "", false, false},
	{step.HoldRegions{Again: true}, tikv, "", false, true},
	{step.AdoptEviction{Member: "m"}, tikv, "m", false, false},
	{step.AllowLeaders{Member: "m"}, tikv, "m", false, false},
	{step.RemoveStore{Component: tikv, Member: "m"}, tikv, "m", true, false},
	{step.RestoreStore{Component: tikv, Member: "m"}, tikv, "m", false, false},
	{step.ForgetRecord{Component: tikv, Member: "m"}, tikv, "m", false, false},
	{step.DrainCapture{Component: ticdc, Member: "m"}, ticdc, "m", false, false},
	{step.ClosePump{Component: topology.Pump, Member: "m"}, topology.Pump, "m", true, false},
	{step.DrainCapture{Component: ticdc, Member: "m", Again: true}, ticdc, "m", false, true},
	{step.AdoptDrain{Component: ticdc, Member: "m"}, ticdc, "m", false, false},
	{step.ForgetDrain{Component: ticdc, Member: "m"}, ticdc, "m", false, false},
	{step.SetPassword{Component: tidb, Member: "m"}, tidb, "m", false, false},
	{step.BeginDDLPause{Component: tidb, Member: "m"}, tidb, "m", false, false},
	{step.EndDDLPause{Component: tidb, Member: "m"}, tidb, "m", false, false},
	{step.EnableRules{Component: topology.TiFlash}, topology.TiFlash, "", false, false},
	{step.MarkClaims{Component: pd, Member: "m"}, pd, "m", false, false},
	{step.UnmarkClaims{Component: pd, Member: "m"}, pd, "m", false, false},
	{step.DeleteClaim{Component: pd, Member: "m"}, pd, "m", true, false},
	{step.DeletePod{Component: pd, Member: "m"}, pd, "m", true, false},
	{step.ReplaceEnded{Component: pd, Member: "m"}, pd, "m", true, false},
	{step.RemakePod{Component: pd, Member: "m"}, pd, "m", false, false},
	{step.DeleteSet{Component: pd}, pd, "", true, false},
	{step.RecordFailure{Component: pd, Member: "m"}, pd, "m", true, false},
	{step.RetireFailure{Component: pd, Member: "m"}, pd, "m", false, false},
	{step.ForgetFailure{Component: pd, Member: "m"}, pd, "m", false, false},
	{step.ResizeClaim{Component: pd, Member: "m"}, pd, "m", false, false},
	{step.ModifyClaim{Component: pd, Member: "m"}, pd, "m", false, false},
	{step.RecreateSet{Component: pd}, pd, "", true, false},
	{step.EndPause{By: "ann"}, "", "", true, false},
	{step.Label{Component: pd, Member: "m"}, pd, "m", false, true},
	{step.TendVolume{Component: pd, Member: "m"}, pd, "m", false, true},
	{step.LabelStore{Component: tikv, Member: "m"}, tikv, "m", false, true},
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
		for _, method := range regexp.MustCompile(`(?m)^func \((?:\w+ )?(\w+)\) Action\(\)`).FindAllSubmatch(source, -1) {
			if !listed[string(method[1])] {
				t.Errorf("no example of %s", method[1])
			}
		}
	}
}
