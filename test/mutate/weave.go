package main

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"strings"
)

// force is the environment variable with the number of the mutant in force.
// Without it, or with 0, what runs is the original.
const force = "MUTANT"

// woven is a file with all of its mutants in it.
type woven struct {
	source []byte
	spans  []span // in the order of the lines
}

// span are the lines of a woven file that belong to a mutant.
type span struct{ from, to, mutant int }

// mutantAt is the number of the mutant that a line belongs to.
func (w woven) mutantAt(line int) (int, bool) {
	for _, s := range w.spans {
		if s.from <= line && line <= s.to {
			return s.mutant, true
		}
	}
	return 0, false
}

// weaver writes a woven file. Compiling one tree for each mutant takes seconds;
// compiled together they cost one build, and each of them only its tests.
type weaver struct {
	out   bytes.Buffer
	line  int
	spans []span
}

// weave puts mutants, by number, into the source of their file. numbers are in
// the order of the source.
func weave(source []byte, mutants map[int]Mutant, numbers []int) woven {
	w := &weaver{line: 1}
	at := 0
	for len(numbers) > 0 {
		h, n := mutants[numbers[0]].home, 1
		for n < len(numbers) && mutants[numbers[n]].home == h {
			n++
		}
		here := numbers[:n]
		numbers = numbers[n:]
		w.add(string(source[at:h.start]))
		at = h.start
		if h.variable {
			w.value(source, h, mutants, here)
			at = h.end
			continue
		}
		w.body(source, h, mutants, here)
	}
	w.add(string(source[at:]))
	return woven{w.out.Bytes(), w.spans}
}

func (w *weaver) add(text string) {
	w.out.WriteString(text)
	w.line += strings.Count(text, "\n")
}

// body begins a function with a copy of it for each mutant. A copy is a function
// of its own within it, so that the compiler asks for its return statement, too.
func (w *weaver) body(source []byte, h home, mutants map[int]Mutant, numbers []int) {
	before, after := "return func() "+h.typ, ""
	if h.typ == "" {
		before, after = "func()", "\nreturn"
	}
	w.add("\nswitch mutantInForce {")
	for _, n := range numbers {
		w.add(fmt.Sprintf("\ncase %d:\n%s {\n", n, before))
		from := w.line
		w.add(mutants[n].Apply(source) + "\n}()")
		w.spans = append(w.spans, span{from, w.line, n})
		w.add(after)
	}
	w.add("\n}\n")
}

// value has a variable begin as one of the values. All of them are evaluated, so
// that the compiler finds the type in the original.
func (w *weaver) value(source []byte, h home, mutants map[int]Mutant, numbers []int) {
	w.add("mutantOf")
	if h.typ != "" {
		w.add("[" + h.typ + "]")
	}
	w.add("(" + string(source[h.start:h.end]) + ", []int{")
	for _, n := range numbers {
		w.add(fmt.Sprintf("%d,", n))
	}
	w.add("},\n")
	for _, n := range numbers {
		from := w.line
		w.add(mutants[n].Apply(source) + ",\n")
		w.spans = append(w.spans, span{from, w.line - 1, n})
	}
	w.add(")")
}

// parses reports whether a mutant is Go at all. One that is not would hide from the
// compiler what stands next to it.
func parses(m Mutant, source []byte) bool {
	text := m.Apply(source)
	if m.home.variable {
		_, err := parser.ParseExpr(text)
		return err == nil
	}
	_, err := parser.ParseFile(token.NewFileSet(), m.File, "package p; func _() {"+text+"\n}", parser.SkipObjectResolution)
	return err == nil
}

// forced is the file that each package gets for its woven ones.
func forced(of string) []byte {
	return fmt.Appendf(nil, `package %s

import (
	"os"
	"strconv"
)

var mutantInForce, _ = strconv.Atoi(os.Getenv(%q))

func mutantOf[T any](original T, numbers []int, mutants ...T) T {
	for i, n := range numbers {
		if n == mutantInForce {
			return mutants[i]
		}
	}
	return original
}
`, path.Base(of), force)
}
