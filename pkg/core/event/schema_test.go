package event

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile("../../../docs/events.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSchema holds the examples, and whole runs as package report writes them, to the
// JSON Schema that consumers generate their types from.
func TestSchema(t *testing.T) {
	s := schema(t)
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, "../../edge/report/testdata/converged.json") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			if err := validate(s, string(line)); err != nil {
				t.Errorf("%s: %s%v", file, line, err)
			}
		}
	}
}

// TestComponents: the schema and the pages of events and logs know each component, and the schema no other one.
func TestComponents(t *testing.T) {
	s := schema(t)
	const line = `{"apiVersion":"kubectl-tidb/v1","type":"progress","time":"2026-03-01T03:01:09Z","namespace":"tidb","cluster":"basic",` +
		`"ready":1,"updated":1,"wanted":1,"component":`
	for _, k := range topology.Kinds() {
		if err := validate(s, line+`"`+string(k)+`"}`); err != nil {
			t.Errorf("the schema refuses an event of %s: %v", k, err)
		}
	}
	if validate(s, line+`"tiother"}`) == nil {
		t.Error("the schema takes an event of a component that does not exist")
	}
	for _, page := range []string{"events.md", "logs.md"} {
		text, err := os.ReadFile("../../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		row := regexp.MustCompile("(?m)^\\| `component` \\|.*$").FindString(string(text))
		for _, k := range topology.Kinds() {
			if !strings.Contains(row, "`"+string(k)+"`") {
				t.Errorf("docs/%s: the row of component is %q, without %s", page, row, k)
			}
		}
	}
}

// TestSchemaRefuses shows that the schema is able to refuse.
func TestSchemaRefuses(t *testing.T) {
	s := schema(t)
	const head = `{"apiVersion":"kubectl-tidb/v1","time":"2026-03-01T03:01:09Z","namespace":"tidb","cluster":"basic",`
	for name, line := range map[string]string{
		"no type":                     head + `"component":"pd"}`,
		"a type that is not there":    head + `"type":"begun"}`,
		"no time":                     `{"apiVersion":"kubectl-tidb/v1","type":"notice","reason":"SpecWarning","message":"x","namespace":"tidb","cluster":"basic"}`,
		"a time of another format":    strings.Replace(head, "2026-03-01T03:01:09Z", "yesterday", 1) + `"type":"notice","reason":"SpecWarning","message":"x"}`,
		"blocked without a remedy":    head + `"type":"blocked","reason":"PDServing","message":"x","source":"database","since":"2026-03-01T03:01:09Z"}`,
		"a wait without a reason":     head + `"type":"waiting","message":"x","source":"database","since":"2026-03-01T03:01:09Z"}`,
		"a notice without a reason":   head + `"type":"notice","message":"x"}`,
		"a reason in words":           head + `"type":"waiting","reason":"pd serves","message":"x","source":"database","since":"2026-03-01T03:01:09Z"}`,
		"an action that says nothing": head + `"type":"notice","reason":"SpecWarning","message":"x","remedy":[{}]}`,
		"a number without its unit":   head + `"type":"waiting","reason":"PDServing","message":"x","source":"database","since":"2026-03-01T03:01:09Z","left":3}`,
		"an end without an exit code": head + `"type":"done","outcome":"converged"}`,
	} {
		if validate(s, line) == nil {
			t.Errorf("%s is accepted: %s", name, line)
		}
	}
}

func validate(s *jsonschema.Schema, line string) error {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
	if err != nil {
		return err
	}
	return s.Validate(value)
}

// TestNoticeReasons: each reason of notices is in the table once, with its meaning. The
// reference is made from the table: a reason that is missing there would not be documented.
func TestNoticeReasons(t *testing.T) {
	seen := map[NoticeReason]bool{}
	for _, r := range NoticeReasons() {
		if r.Text == "" || seen[r.Reason] {
			t.Errorf("%+v", r)
		}
		seen[r.Reason] = true
	}
	source, err := os.ReadFile("notice.go")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`(?m)^\t\w+ +NoticeReason = "([A-Z][a-zA-Z]+)"$`).FindAllSubmatch(source, -1)
	if len(named) != len(seen) {
		t.Errorf("%d reasons are named in CamelCase, and %d are in the table", len(named), len(seen))
	}
}
