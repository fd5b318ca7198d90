package intent

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	yamlv3 "go.yaml.in/yaml/v3"
)

// templates matches what Helm, Jinja, Go templates, or a shell leave of a text that was not rendered.
var templates = regexp.MustCompile(`\{\{.*?\}\}|\{%.*?%\}|^\$\{[A-Za-z_][A-Za-z0-9_]*\}$`)

// unrendered returns the problem with a line of a template.
func unrendered(line int, field, text string) Problem {
	return Problem{Line: line, Field: field, What: fmt.Sprintf(
		"%s is part of a template, not a value: render it first, e.g. helm template NAME CHART | kubectl tidb apply -f -", text)}
}

// free are the names of fields that hold texts of other programs, in which braces may have a meaning.
var free = []string{"annotations", "labels", "config", "proxy", "env", "command", "args", "data", "managedFields", "lifecycle"}

// leftOvers returns the values that a template has left. These are an object whose key is an object, as {{ .x }}
// reads without quotes, and texts that have such a part.
func (d document) leftOvers(node *yamlv3.Node, path string) []Problem {
	var problems []Problem
	switch node.Kind {
	case yamlv3.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			if key.Kind == yamlv3.MappingNode {
				line := d.before + key.Line
				return []Problem{unrendered(line, path, d.part(key.Line))}
			}
			if !slices.Contains(free, key.Value) {
				problems = append(problems, d.leftOvers(value, strings.TrimPrefix(path+"."+key.Value, "."))...)
			}
		}
	case yamlv3.SequenceNode:
		for i, item := range node.Content {
			problems = append(problems, d.leftOvers(item, fmt.Sprintf("%s[%d]", path, i))...)
		}
	case yamlv3.ScalarNode:
		if found := templates.FindString(node.Value); found != "" && !strings.Contains(node.Value, "\n") {
			problems = append(problems, unrendered(d.before+node.Line, path, found))
		}
	}
	return problems
}

// part returns what a template has left in a line of the document.
func (d document) part(line int) string {
	lines := bytes.Split(d.text, []byte("\n"))
	if line < 1 || line > len(lines) {
		return "{{ }}"
	}
	if found := templates.Find(lines[line-1]); found != nil {
		return string(found)
	}
	return "{{ }}"
}

// conflictMark matches the lines that a merge with conflicts leaves.
var conflictMark = regexp.MustCompile(`^(<<<<<<< |=======$|>>>>>>> )`)

// foreign returns the first line that explains why a text is no YAML, if there is one. The parser names only what it
// has expected instead.
func (d document) foreign() (Problem, bool) {
	for i, line := range bytes.Split(d.text, []byte("\n")) {
		at, text := d.before+i+1, strings.TrimRight(string(line), "\r")
		found := templates.FindString(text)
		switch {
		case !utf8.Valid(line):
			return Problem{Line: at, What: "is not encoded in UTF-8: save the file in that encoding"}, true
		case conflictMark.MatchString(text):
			return Problem{Line: at, What: "is a mark of a merge with conflicts: resolve the conflict, and remove the marks"}, true
		case found != "" && !strings.HasPrefix(strings.TrimSpace(text), "#"):
			return unrendered(at, "", found), true
		case strings.ContainsAny(text, "\u00a0\u202f\u2007"):
			return Problem{Line: at, What: "has a no-break space, which YAML takes for a letter: write a plain space instead"}, true
		}
	}
	return Problem{}, false
}
