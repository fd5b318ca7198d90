package intent

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// line returns the line of a field such as "spec.tidb.slowLog[0].size" in the file. If the field is not in the file,
// it is the line of the nearest field around it.
func (d document) line(node *yamlv3.Node, path string) int {
	return d.lineOf(node, strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }))
}

// lineOf returns the line of a field. It takes the parts of the path, because a key of a map may have dots.
func (d document) lineOf(node *yamlv3.Node, path []string) int {
	line := node.Line
	for _, part := range path {
		for node.Kind == yamlv3.AliasNode {
			node = node.Alias
		}
		key, value := child(node, part)
		if value == nil {
			break
		}
		line, node = key.Line, value
	}
	return d.before + line
}

// child returns a field of an object, with its key, or an item of a list.
func child(node *yamlv3.Node, part string) (key, value *yamlv3.Node) {
	switch node.Kind {
	case yamlv3.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == part {
				return node.Content[i], node.Content[i+1]
			}
		}
	case yamlv3.SequenceNode:
		if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i]
		}
	}
	return nil, nil
}

// duplicates returns fields that are written twice: which one counts would depend on the parser.
func (d document) duplicates(node *yamlv3.Node, path string) []Problem {
	var problems []Problem
	switch node.Kind {
	case yamlv3.MappingNode:
		first := map[string]int{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			field := strings.TrimPrefix(path+"."+key.Value, ".")
			if line, twice := first[key.Value]; twice && key.Value != "<<" {
				problems = append(problems, Problem{
					Line: d.before + key.Line, Field: field, What: fmt.Sprintf("is already in line %d", d.before+line),
				})
			}
			first[key.Value] = key.Line
			problems = append(problems, d.duplicates(node.Content[i+1], field)...)
		}
	case yamlv3.SequenceNode:
		for i, item := range node.Content {
			problems = append(problems, d.duplicates(item, fmt.Sprintf("%s[%d]", path, i))...)
		}
	}
	return problems
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

// syntax returns a parser's error, with the line counted from the beginning of the file. Where the error has a cause
// that the parser does not know, it returns that cause.
func (d document) syntax(err error) Problem {
	if found, ok := d.foreign(); ok {
		return found
	}
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	text = strings.TrimPrefix(text, "yaml: ")
	found := yamlLine.FindStringSubmatch(text)
	if found == nil {
		return Problem{What: "not YAML: " + text}
	}
	n, _ := strconv.Atoi(found[1])
	return Problem{Line: d.before + n, What: "not YAML: " + strings.Replace(text, found[0], "", 1)}
}
