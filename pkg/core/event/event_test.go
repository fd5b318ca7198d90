package event

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

var update = flag.Bool("update", false, "write the golden files, and the examples in docs/events.md")

const doc = "../../../docs/events.md"

// examples has one event of each type, with every field that the type can have.
func examples() []Event {
	begun := time.Date(2026, 3, 1, 3, 0, 57, 0, time.UTC)
	deadline := begun.Add(25 * time.Hour)
	ready, updated, wanted, code := 2, 1, 3, 4
	leaders := Event{
		Component: "tikv", Member: "basic-tikv-2", Reason: "LeadersEvicted", Source: FromDatabase,
		Since: &begun, Deadline: &deadline,
	}
	waiting, passed := leaders, leaders
	waiting.Type, waiting.Observed = Waiting, "340 leaders left"
	waiting.Message = "basic-tikv-2: leaders not evicted: 340 leaders left"
	left := int64(340)
	waiting.Left, waiting.Unit = &left, "leaders"
	waiting.Remedy = []remedy.Advice{{Text: "add a store"}, {Text: "raise leader-schedule-limit in PD", Command: "kubectl exec basic-pd-0 -c pd -n tidb -- /pd-ctl config set leader-schedule-limit 8"}}
	passed.Type, passed.Observed, passed.Seconds = Passed, "340 leaders left", 53.2
	passed.Message = "basic-tikv-2: leaders evicted"
	step := Event{Component: "tikv", Member: "basic-tikv-2", Action: "EvictLeaders", Step: "evict region leaders from basic-tikv-2"}
	started, finished, failed := step, step, step
	started.Type = Started
	finished.Type, finished.Seconds = Finished, 0.512
	failed.Type, failed.Seconds, failed.Error = Failed, 10, "basic-pd-0: no leader"
	all := []Event{
		{Type: Planned, Request: "upgrade to v8.1.1", Outcome: "act"}, started, finished, failed, waiting, passed,
		{
			Type: Blocked, Component: "tikv", Member: "basic-tikv-0", Reason: "VolumeResized", Source: FromKubernetes,
			Message:  "basic-tikv-0: volume not resized: StorageClass standard does not allow it",
			Observed: "StorageClass standard does not allow it", Since: &begun,
			Remedy: []remedy.Advice{{Text: "set allowVolumeExpansion on StorageClass standard"}},
		},
		{Type: Progress, Component: "tikv", Ready: &ready, Unknown: 1, Updated: &updated, Wanted: &wanted},
		{Type: Notice, Reason: string(OperatorIdle), Message: "tidb-operator db/op-1 has changed nothing for 1m0s, though there is something to do (restart basic-tikv-2)", Remedy: []remedy.Advice{{Text: "if it is not to drive this cluster any more, give --take-over"}}},
		{Type: Done, Outcome: OutcomeTimedOut, ExitCode: &code, Seconds: 1800, Error: "not converged after 30m0s", Remedy: []remedy.Advice{{Text: "run the same command again to resume"}}},
	}
	for i := range all {
		all[i].APIVersion, all[i].Time = Version, begun.Add(12*time.Second)
		all[i].Context, all[i].Namespace, all[i].Cluster = "prod-eu", "tidb", "basic"
	}
	return all
}

func TestGolden(t *testing.T) {
	seen := map[Type]bool{}
	for _, e := range examples() {
		seen[e.Type] = true
		got, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		file := filepath.Join("testdata", string(e.Type)+".json")
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: the contract changed\ngot  %s\nwant %s", e.Type, got, want)
		}
	}
	for _, typ := range Types() {
		if !seen[typ] {
			t.Errorf("no example of type %s", typ)
		}
	}
}

// TestRoundTrip holds what a consumer that uses this type relies on.
func TestRoundTrip(t *testing.T) {
	for _, e := range examples() {
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var back Event
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(e, back) {
			t.Errorf("%s: %+v became %+v", e.Type, e, back)
		}
	}
}

// TestDocumentation holds docs/events.md to the golden files: an example of
// each type, and a line for each field.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, typ := range Types() {
		golden, err := os.ReadFile(filepath.Join("testdata", string(typ)+".json"))
		if err != nil {
			t.Fatal(err)
		}
		heading := "\n### `" + string(typ) + "`\n"
		_, after, found := strings.Cut(page, heading)
		if !found {
			t.Errorf("no section %q", strings.TrimSpace(heading))
			continue
		}
		_, after, _ = strings.Cut(after, "```json\n")
		example, _, found := strings.Cut(after, "```\n")
		var want bytes.Buffer
		if err := json.Indent(&want, golden, "", "  "); err != nil {
			t.Fatal(err)
		}
		switch {
		case !found:
			t.Errorf("%s: no example", typ)
		case *update:
			page = strings.Replace(page, "```json\n"+example+"```\n", "```json\n"+want.String()+"```\n", 1)
		case example != want.String():
			t.Errorf("%s: the example differs from testdata; run with -update", typ)
		}
	}
	for f := range reflect.TypeFor[Event]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !strings.Contains(page, "\n| `"+name+"` |") {
			t.Errorf("field %s is not in the table", name)
		}
	}
	if *update {
		if err := os.WriteFile(doc, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOutcomes holds docs/exit-codes.md to the outcomes that events name.
func TestOutcomes(t *testing.T) {
	page, err := os.ReadFile("../../../docs/exit-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	for outcome, code := range map[string]string{
		OutcomeConverged: "0", OutcomeFailed: "1", OutcomeUsage: "2", OutcomeBlocked: "3",
		OutcomeTimedOut: "4", OutcomePaused: "6", OutcomeCanary: "6", OutcomeAborted: "7", OutcomeConflict: "8",
		OutcomeForbidden: "9", OutcomeChanges: "10", OutcomeInterrupted: "130",
	} {
		if row := "\n| " + code + " | `" + outcome + "` |"; !strings.Contains(string(page), row) {
			t.Errorf("exit-codes.md has no row %q", strings.TrimSpace(row))
		}
	}
}
