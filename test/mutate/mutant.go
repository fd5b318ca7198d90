package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Mutant is one small change of one file.
type Mutant struct {
	File string // relative to the root of the module, e.g. pkg/core/plan/scale.go
	Line int
	// Key names the mutant without line numbers, so that it stays the same while
	// the lines around it move: file, function, what is changed to what, and
	// which one it is where a function has the same text more than once.
	Key   string
	start int // byte offsets of what is replaced
	end   int
	text  string
	home  home
}

// home is what a mutant is a copy of: the body of a function, or the value of a
// variable.
type home struct {
	start, end int    // byte offsets, without a body's braces
	variable   bool   // a value, not a body
	typ        string // the function's results as they are written, or the variable's type; "" for none
}

// Apply is the mutant's home with the change in it.
func (m Mutant) Apply(source []byte) string {
	return string(source[m.home.start:m.start]) + m.text + string(source[m.end:m.home.end])
}

// Package is the mutant's package, e.g. pkg/core/plan.
func (m Mutant) Package() string { return filepath.ToSlash(filepath.Dir(m.File)) }

// Mutants are all mutants of the packages' files, in the order of the source.
func Mutants(root string, packages []string) ([]Mutant, error) {
	var all []Mutant
	for _, p := range packages {
		files, err := filepath.Glob(filepath.Join(root, p, "*.go"))
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("%s: there are no Go files; run it in the root of the module", p)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") || !everywhere(path) {
				continue
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			found, err := Mutate(filepath.ToSlash(filepath.Join(p, filepath.Base(path))), source)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

// everywhere reports whether a file is compiled for this operating system and for all
// others. No test here runs what is for others, and what is for this one only asks
// the system for what no test can have it answer.
func everywhere(path string) bool {
	dir, name := filepath.Split(path)
	others := build.Default
	others.GOOS = "others"
	for _, system := range []build.Context{build.Default, others} {
		if built, err := system.MatchFile(dir, name); err != nil || !built {
			return false
		}
	}
	return true
}

// Mutate finds the mutants of one file.
func Mutate(name string, source []byte) ([]Mutant, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &finder{name: name, source: source, fset: fset, seen: map[string]bool{}, count: map[string]int{}}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body != nil {
				f.owner, f.home = owner(d), f.body(d)
				f.function(d.Type, d.Body)
			}
		case *ast.GenDecl:
			if d.Tok != token.VAR {
				continue
			}
			for _, s := range d.Specs {
				v := s.(*ast.ValueSpec)
				f.owner = v.Names[0].Name
				for _, value := range v.Values {
					f.home = f.value(v, value)
					f.walk(value, nil)
				}
			}
		}
	}
	slices.SortStableFunc(f.mutants, func(a, b Mutant) int { return a.start - b.start })
	f.number()
	return f.mutants, nil
}

func owner(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	if s, ok := t.(*ast.StarExpr); ok {
		t = s.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + d.Name.Name
	}
	return d.Name.Name
}

// finder collects the mutants of a file.
type finder struct {
	name    string
	source  []byte
	fset    *token.FileSet
	owner   string // the function or variable at hand
	home    home
	mutants []Mutant
	seen    map[string]bool
	count   map[string]int
}

// replace adds the mutant that has text instead of what stands between two
// positions. The same change found by two operators is one mutant.
func (f *finder) replace(from, to token.Pos, text string) {
	start, end := f.offset(from), f.offset(to)
	at := fmt.Sprintf("%d %d %s", start, end, text)
	if f.seen[at] {
		return
	}
	f.seen[at] = true
	f.mutants = append(f.mutants, Mutant{
		File: f.name, Line: f.fset.Position(from).Line, start: start, end: end, text: text, home: f.home,
		Key: fmt.Sprintf("%s %s: %s", f.name, f.owner, f.describe(start, end, text)),
	})
}

// around is how much of a line is shown to the left and the right of a change.
const around = 40

// describe shows the change within its line: if have [>= => >] sc.Want.Size() {
func (f *finder) describe(start, end int, text string) string {
	before := lastOf(string(f.source[:start]))
	after, _, _ := strings.Cut(string(f.source[end:]), "\n")
	if r := []rune(after); len(r) > around {
		after = string(r[:around]) + "…"
	}
	line := before + "[" + short(string(f.source[start:end])) + " => " + short(text) + "]" + after
	return strings.Join(strings.Fields(line), " ")
}

// lastOf is the end of the text's last line.
func lastOf(text string) string {
	text = text[strings.LastIndexByte(text, '\n')+1:]
	if r := []rune(text); len(r) > around {
		return "…" + string(r[len(r)-around:])
	}
	return text
}

func (f *finder) offset(p token.Pos) int { return f.fset.Position(p).Offset }

func (f *finder) textOf(n ast.Node) string {
	return string(f.source[f.offset(n.Pos()):f.offset(n.End())])
}

func (f *finder) body(d *ast.FuncDecl) home {
	h := home{start: f.offset(d.Body.Lbrace) + 1, end: f.offset(d.Body.Rbrace)}
	if d.Type.Results != nil {
		h.typ = f.textOf(d.Type.Results)
	}
	return h
}

func (f *finder) value(v *ast.ValueSpec, value ast.Expr) home {
	h := home{start: f.offset(value.Pos()), end: f.offset(value.End()), variable: true}
	if v.Type != nil {
		h.typ = f.textOf(v.Type)
	}
	return h
}

// number distinguishes mutants of one function with the same text.
func (f *finder) number() {
	for i := range f.mutants {
		m := &f.mutants[i]
		f.count[m.Key]++
		if n := f.count[m.Key]; n > 1 {
			m.Key += fmt.Sprintf(" #%d", n)
		}
	}
}

// short returns a text as one line, cut after some words.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return "nothing"
	}
	if r := []rune(text); len(r) > 90 {
		return string(r[:90]) + "…"
	}
	return text
}
