package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
)

const hangsPage = "../../docs/how-to/upgrade-hangs.md"

// gateRow matches a row of that page: the state of a gate, its reason, why the tool waits, and what a person does.
var gateRow = regexp.MustCompile("(?m)^\\| (.+) \\| `([A-Z][A-Za-z]+)` \\| (.+) \\| (.+) \\|$")

// TestUpgradeHangs: the page for a person at night has each gate once, in the words of the gate's line.
func TestUpgradeHangs(t *testing.T) {
	page, err := os.ReadFile(hangsPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrongGates(string(page), plan.Reasons()) {
		t.Errorf("%s: %s", hangsPage, w)
	}
}

// wrongGates compares the rows of a page with the reasons that there are.
func wrongGates(page string, reasons []plan.Meaning) []string {
	var wrong []string
	rows := map[string]string{}
	for _, row := range gateRow.FindAllStringSubmatch(page, -1) {
		if _, twice := rows[row[2]]; twice {
			wrong = append(wrong, row[2]+" is there twice")
		}
		rows[row[2]] = row[1]
		if !sentence.MatchString(row[3]) || !sentence.MatchString(row[4]) {
			wrong = append(wrong, row[2]+": no sentence says why the tool waits, or what to do")
		}
	}
	for _, r := range reasons {
		switch state, ok := rows[string(r.Reason)]; {
		case !ok:
			wrong = append(wrong, string(r.Reason)+" is missing")
		case state != r.State:
			wrong = append(wrong, fmt.Sprintf("%s: the line says %q, and the page %q", r.Reason, r.State, state))
		}
		delete(rows, string(r.Reason))
	}
	for reason := range rows {
		wrong = append(wrong, reason+" is no reason")
	}
	return wrong
}

// TestWrongGates: each kind of mistake in the rows is found.
func TestWrongGates(t *testing.T) {
	reasons := []plan.Meaning{{Reason: "PDServing", State: "PD not serving"}, {Reason: "PodReplaced", State: "pod not replaced"}}
	const pd, pod = "| PD not serving | `PDServing` | It is down. | Wait. |\n", "| pod not replaced | `PodReplaced` | It is old. | Wait. |\n"
	for name, tt := range map[string]struct{ page, want string }{
		"none":        {pd + pod, ""},
		"missing":     {pd, "PodReplaced is missing"},
		"other words": {pd + strings.ReplaceAll(pod, "pod not replaced", "old pod"), `PodReplaced: the line says "pod not replaced", and the page "old pod"`},
		"twice":       {pd + pod + pd, "PDServing is there twice"},
		"unknown":     {pd + pod + strings.ReplaceAll(pd, "PDServing", "PDGone"), "PDGone is no reason"},
		"no sentence": {pd + strings.ReplaceAll(pod, "Wait.", "-"), "PodReplaced: no sentence"},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(wrongGates(tt.page, reasons), "\n")
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, wanted %q", got, tt.want)
			}
		})
	}
}
