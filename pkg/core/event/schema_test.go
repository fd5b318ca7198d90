package event

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
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
