package intent

import (
	"bufio"
	"bytes"
	"io"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// document is one of the documents of a file.
type document struct {
	text   []byte
	before int // lines before it
}

// split returns the documents of a file, and what is wrong with a line between two of them.
func split(data []byte) ([]document, []Problem) {
	var docs []document
	in := &lines{rest: data}
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(in)); ; {
		text, err := reader.Read()
		switch {
		case err == io.EOF: //nolint:errorlint // the reader's own
			return docs, nil
		case err != nil:
			return docs, []Problem{{Line: in.read, What: "not YAML: " + err.Error()}}
		}
		separators := 1
		if in.ended {
			separators = 0
		}
		docs = append(docs, document{text: text, before: in.read - separators - bytes.Count(text, []byte("\n"))})
	}
}

// lines returns no more than one line for each call of Read. So the number of lines that were used is known although
// a reader around it reads ahead.
type lines struct {
	rest  []byte
	read  int  // how many lines
	ended bool // the end was reported
}

func (l *lines) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		l.ended = true
		return 0, io.EOF
	}
	line, _, _ := bytes.Cut(l.rest, []byte("\n"))
	n := copy(p, l.rest[:min(len(line)+1, len(l.rest))])
	l.rest = l.rest[n:]
	if p[n-1] == '\n' || len(l.rest) == 0 {
		l.read++
	}
	return n, nil
}

// item is an object of a document, with its place there.
type item struct {
	document
	tree *yamlv3.Node
	*unstructured.Unstructured
}

// items returns the objects of a document: one object, or the objects of a list.
func (d document) items() ([]item, []Problem) {
	var root yamlv3.Node
	if err := yamlv3.Unmarshal(d.text, &root); err != nil {
		return nil, []Problem{d.syntax(err)}
	}
	if len(root.Content) == 0 || root.Content[0].Tag == "!!null" {
		return nil, nil
	}
	tree := root.Content[0]
	problems := d.duplicates(tree, "")
	// Values are read as kubectl reads them: to this parser, "on" is a boolean.
	body, err := yaml.YAMLToJSON(d.text)
	if err != nil {
		if left := d.leftOvers(tree, ""); len(left) > 0 {
			return nil, left
		}
		return nil, []Problem{d.syntax(err)}
	}
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(body, &u.Object); err != nil {
		return nil, append(problems, Problem{Line: d.before + tree.Line, What: "not an object with fields"})
	}
	if !u.IsList() {
		return []item{{d, tree, u}}, problems
	}
	places := d.places(tree)
	var all []item
	for i, object := range u.Object["items"].([]any) {
		place := tree
		if i < len(places) {
			place = places[i]
		}
		fields, ok := object.(map[string]any)
		if !ok {
			problems = append(problems, Problem{Line: d.before + place.Line, What: "not an object with fields"})
			continue
		}
		all = append(all, item{d, place, &unstructured.Unstructured{Object: fields}})
	}
	return all, problems
}

// places returns where the objects of a list are written. It returns none if the list is put together with
// references, which are written elsewhere.
func (d document) places(list *yamlv3.Node) []*yamlv3.Node {
	if _, items := child(list, "items"); items != nil {
		return items.Content
	}
	return nil
}
