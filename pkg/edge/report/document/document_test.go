package document

import (
	"bytes"
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/history"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

var update = flag.Bool("update", false, "write the golden files")

// recorded returns the runs of a file in testdata.
func recorded(t *testing.T, name string) []history.Run {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name+".ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	runs, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

func written(t *testing.T, f Format, runs []history.Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, f, runs); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var extensions = map[Format]string{JUnit: ".xml", Markdown: ".md", HTML: ".html"}

// TestGolden: the documents of two runs on a real cluster, an upgrade and one whose image does not
// exist, and of runs that are made up to have all that the others do not.
func TestGolden(t *testing.T) {
	for name, runs := range map[string][]history.Run{
		"upgrade": recorded(t, "upgrade"), "timed-out": recorded(t, "timed-out"), "made-up": madeUp(),
	} {
		for f, extension := range extensions {
			got, file := written(t, f, runs), filepath.Join("testdata", name+extension)
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs; run with -update and look at the difference\n%s", file, got)
			}
		}
	}
}

// hostile is what no document may take for its own.
const hostile = "<script>alert(1)</script> | `x` *y* [z](http://example.com) & \x1b[31mred\x1b[0m @someone\n\n# title ]]>"

// madeUp returns a run with a step that fails, one that failed before, a wait that is blocked, one
// for a number, notices and an end that is blocked, and a run that was killed.
func madeUp() []history.Run {
	var b history.Builder
	at := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	code, left, less := 3, int64(700), int64(12)
	long := at.Add(-time.Hour)
	waits := event.Event{Component: "tikv", Member: "basic-tikv-10", Reason: "RegionsMoved", Source: event.FromDatabase, Since: &long, Unit: "regions"}
	more, few := waits, waits
	more.Type, more.Left, more.Message = event.Waiting, &left, "basic-tikv-10: regions not moved: 700 regions left"
	few.Type, few.Left, few.Message = event.Waiting, &less, "basic-tikv-10: regions not moved: 12 regions left"
	blocked := few
	blocked.Type, blocked.Remedy = event.Blocked, []remedy.Advice{{Text: "add a store"}, {Command: "kubectl tidb scale basic tikv=4"}}
	step := event.Event{Component: "tikv", Member: "basic-tikv-2", Action: "Restart", Step: "restart basic-tikv-2"}
	is := func(e event.Event, t event.Type, err string) event.Event { e.Type, e.Error = t, err; return e }
	failing := event.Event{Component: "pd", Step: "update StatefulSet basic-pd " + hostile}
	killed := event.Event{Type: event.Planned, Cluster: "other"}
	for _, e := range []event.Event{
		{Type: event.Planned, Request: "scale tikv=4 " + hostile, Outcome: "act"},
		more, is(step, event.Started, ""), is(step, event.Failed, "conflict"), is(step, event.Started, ""), is(step, event.Finished, ""),
		few, {Type: event.Notice, Reason: "SpecWarning", Message: "a note " + hostile, Remedy: []remedy.Advice{{Text: "see " + hostile}}},
		is(failing, event.Started, ""), is(failing, event.Failed, hostile), blocked,
		{Type: event.Waiting, Component: "tidb", Reason: "Unheard" + hostile, Message: hostile, Source: "elsewhere"},
		{Type: event.Done, Outcome: event.OutcomeBlocked, ExitCode: &code, Error: hostile},
		killed,
	} {
		at = at.Add(3 * time.Second)
		e.Time, e.Context, e.Namespace = at, "eu-1", "prod"
		if e.Cluster == "" {
			e.Cluster = "basic"
		}
		b.Add(e)
	}
	return b.Runs()
}

// TestHostile: text of a server never becomes an element, a heading, a link or a mention.
func TestHostile(t *testing.T) {
	page := written(t, HTML, madeUp())
	for _, bad := range []string{"<script", "\x1b", "http://example.com\""} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	text := written(t, Markdown, madeUp())
	for _, bad := range []string{"<script", "\x1b", " [z](http", "\n# title", "@someone", " `x`"} {
		if strings.Contains(text, bad) {
			t.Errorf("the Markdown has %q", bad)
		}
	}
	if err := xml.Unmarshal([]byte(written(t, JUnit, madeUp())), new(suites)); err != nil {
		t.Errorf("the XML cannot be read: %v", err)
	}
}

// TestJUnit: the counts are those of the cases, a run that did not converge has a case that says so,
// and no two cases have the same name.
func TestJUnit(t *testing.T) {
	for name, want := range map[string]counts{
		"upgrade":   {Tests: 42, Time: "61.171"},
		"timed-out": {Tests: 6, Failures: 1, Skipped: 3, Time: "40.076"},
	} {
		var got suites
		if err := xml.Unmarshal([]byte(written(t, JUnit, recorded(t, name))), &got); err != nil {
			t.Fatal(err)
		}
		if got.counts != want {
			t.Errorf("%s: %+v, want %+v", name, got.counts, want)
		}
		names := map[string]bool{}
		for _, c := range got.Suites[0].Cases {
			if id := c.Class + " " + c.Name; names[id] {
				t.Errorf("%s: two cases %s", name, id)
			}
			names[c.Class+" "+c.Name] = true
		}
		if len(names) != want.Tests {
			t.Errorf("%s: %d cases", name, len(names))
		}
	}
	var got suites
	if err := xml.Unmarshal([]byte(written(t, JUnit, madeUp())), &got); err != nil {
		t.Fatal(err)
	}
	if got.Failures != 3 || got.Errors != 1 {
		t.Errorf("%d failures and %d errors: want the end, the step and the wait, and a run without an end", got.Failures, got.Errors)
	}
}

// TestDryRun: changes that a dry run has found are no failure.
func TestDryRun(t *testing.T) {
	code := 10
	var b history.Builder
	b.Add(event.Event{Type: event.Done, Cluster: "basic", Time: time.Unix(1, 0), Outcome: event.OutcomeChanges, ExitCode: &code})
	if got := written(t, JUnit, b.Runs()); !strings.Contains(got, `failures="0" errors="0" skipped="1"`) {
		t.Error(got)
	}
	if got := written(t, Markdown, b.Runs()); !strings.Contains(got, "changes are pending") {
		t.Error(got)
	}
}

// TestComment: the Markdown of a large cluster fits into a comment, and says what it leaves out.
func TestComment(t *testing.T) {
	var b history.Builder
	at := time.Unix(1772334000, 0)
	for cluster := range 30 {
		name := fmt.Sprintf("cluster-%d", cluster)
		for store := range 300 {
			at = at.Add(time.Second)
			b.Add(event.Event{
				Type: event.Finished, Time: at, Namespace: "prod", Cluster: name, Component: "tikv", Member: fmt.Sprintf("%s-tikv-%d", name, store),
				Action: "Restart", Step: fmt.Sprintf("restart %s-tikv-%d", name, store), Seconds: 1,
			})
		}
		b.Add(event.Event{Type: event.Done, Time: at, Namespace: "prod", Cluster: name, Outcome: event.OutcomeFailed, Error: strings.Repeat("long_", 2000)})
	}
	for _, n := range []int{1, 10, 30} {
		got := written(t, Markdown, b.Runs()[:n])
		if len(got) > limit {
			t.Errorf("%d runs: %d bytes", n, len(got))
		}
		if n > 1 && !strings.Contains(got, "left out") {
			t.Errorf("%d runs: nothing says what is left out", n)
		}
		if open, closed := strings.Count(got, "<details>"), strings.Count(got, "</details>"); open != closed || open == 0 {
			t.Errorf("%d runs: %d <details>, %d </details>", n, open, closed)
		}
	}
}

// TestRead: what is no stream of events is refused with its line; a last line that was cut off by a
// kill is not, and what a later version adds is ignored.
func TestRead(t *testing.T) {
	const planned = `{"apiVersion":"kubectl-tidb/v1","type":"planned","time":"2026-03-01T03:00:57Z","namespace":"db","cluster":"basic"`
	for name, tt := range map[string]struct {
		text string
		runs int
		says string
	}{
		"one":                  {planned + "}\n", 1, ""},
		"no last line end":     {planned + "}", 1, ""},
		"empty lines":          {"\n" + planned + "}\n\n", 1, ""},
		"killed in a line":     {planned + "}\n" + planned, 1, ""},
		"a new field and type": {planned + "}\n" + strings.Replace(planned, "planned", "sung", 1) + `,"key":"c"}` + "\n", 1, ""},
		"nothing":              {"", 0, "no events"},
		"a text":               {"hello\n", 0, "line 1 is no event"},
		"a text in between":    {planned + "}\nwarning: x\n" + planned + "}\n", 0, "line 2 is no event"},
		"another object":       {`{"kind":"List"}` + "\n", 0, `its apiVersion is ""`},
		"a later version":      {strings.Replace(planned, "/v1", "/v2", 1) + "}\n", 0, `its apiVersion is "kubectl-tidb/v2"`},
		"a manifest":           {"apiVersion: v1\nkind: List\n", 0, "line 1 is no event"},
		"no cluster":           {`{"apiVersion":"kubectl-tidb/v1","type":"planned","time":"2026-03-01T03:00:57Z"}`, 0, "no cluster"},
	} {
		runs, err := Read(strings.NewReader(tt.text))
		if len(runs) != tt.runs || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %d runs, %v", name, len(runs), err)
		}
	}
}

func TestFormats(t *testing.T) {
	for _, name := range Formats() {
		if f, err := Parse(name); err != nil || string(f) != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Parse("pdf"); err == nil || !strings.Contains(err.Error(), "junit, markdown, html") {
		t.Errorf("pdf: %v", err)
	}
}
