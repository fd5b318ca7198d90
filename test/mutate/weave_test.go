package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain lets the tests of mutants be started through this binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 4 && os.Args[1] == "confine" {
		fmt.Fprintln(os.Stderr, confine(os.Args[2:]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// module is a program with its tests. There is all that mutants are woven into:
// functions with and without results, methods, types that are generic, variables
// with a type and without, function literals in them.
var module = map[string]string{
	"go.mod": "module example.org/m\n\ngo 1.24\n",
	"p/p.go": `package p

type pair[T any] struct{ a, b T }

func (p *pair[T]) swap(ok bool) { // its result is p
	if ok {
		p.a, p.b = p.b, p.a
	}
}

func sum(n int) (total int, any bool) {
	for total < 100 && n > 0 {
		total += n
		n--
	}
	any = total > 0
	return
}

func sign(n int) string {
	switch {
	case n < 0:
		return "minus"
	default:
		return "plus"
	}
}

func wait(n int) {
	for n > 0 {
		n--
	}
}

var inner = hook{name: "inner", done: func(n int) bool { return n > 2 }}

var outer hook = hook{name: inner.name, done: func(n int) bool { return !inner.done(n) }}

type hook struct {
	name string
	done func(int) bool
}
`,
	"p/p_test.go": `package p

import "testing"

func Test(t *testing.T) {
	p := pair[int]{1, 2}
	p.swap(true)
	if p.a != 2 {
		t.Error(p)
	}
	if n, any := sum(3); n != 6 || !any {
		t.Error(n, any)
	}
	if sign(0) != "plus" || sign(-1) != "minus" {
		t.Error("sign")
	}
	wait(1)
	if outer.name != "inner" || inner.done(2) || outer.done(3) {
		t.Error("hooks")
	}
}
`,
	"q/q_test.go": "package q\n\nimport \"testing\"\n\nfunc Test(t *testing.T) {}\n",
}

// Each mutant of a small program, and what becomes of it: what the test asks for
// kills, what it does not ask for survives, and a loop without an end is ended.
func TestBench(t *testing.T) {
	root := written(t, module)
	mutants, err := Mutants(root, []string{"p"})
	if err != nil {
		t.Fatal(err)
	}
	b := &Bench{Root: root, Dir: t.TempDir(), Suites: []suite{{of: "q"}, {of: "p"}}, Memory: 3 << 30}
	if err := b.Build(t.Context(), mutants); err != nil {
		t.Fatal(err)
	}
	if b.Suites[0].uses["p"] || !b.Suites[1].uses["p"] {
		t.Errorf("the tests of q use %v, those of p %v", b.Suites[0].uses, b.Suites[1].uses)
	}
	want := map[string]Verdict{
		"swap: if [ok => !(ok)] {":                                                       Killed,
		"swap: [p.a, p.b = p.b, p.a => nothing]":                                         Killed,
		"sum: for total [< => <=] 100 && n > 0 {":                                        Survived,
		"sum: for [total < 100 && => nothing]n > 0 {":                                    Survived,
		"sum: for total < 100[&& n > 0 => nothing] {":                                    Killed, // it sums for ever
		"sum: for total < 100 && n [> => >=] 0 {":                                        Survived,
		"sum: [any = total > 0 => nothing]":                                              Killed,
		`sign: [case n < 0: return "minus" => nothing]`:                                  Killed,
		`sign: [default: return "plus" => nothing]`:                                      NotCompiling,
		"wait: for [n > 0 => !(n > 0)] {":                                                Survived,
		"wait: [n-- => nothing]":                                                         Killed, // it hangs
		`inner: var inner = hook{[name: "inner", => nothing]d`:                           Killed,
		`inner: …ner", done: func(n int) bool { return n [> => >=] 2 }}`:                 Killed,
		"outer: …r.name, done: func(n int) bool { return [! => nothing]inner.done(n) }}": Killed,
		"outer: var outer hook = hook{[name: inner.name, => nothing]done":                Killed,
	}
	for i, m := range mutants {
		got, err := b.Test(t.Context(), i)
		if err != nil {
			t.Fatalf("%s: %v", m.Key, err)
		}
		_, what, _ := strings.Cut(m.Key, " ")
		for w, v := range want {
			if strings.HasPrefix(what, w) {
				delete(want, w)
				if got != v {
					t.Errorf("%s: %d, want %d", what, got, v)
				}
			}
		}
	}
	for w := range want {
		t.Errorf("not found: %s", w)
	}
}

// A mistake that no mutant is to blame for must not pass for one of theirs.
func TestBuildFails(t *testing.T) {
	root := written(t, map[string]string{
		"go.mod": module["go.mod"],
		"p/p.go": "package p\n\nfunc f(n int) bool {\n\tvar unused int\n\treturn n > 0\n}\n",
	})
	mutants, err := Mutants(root, []string{"p"})
	if err != nil {
		t.Fatal(err)
	}
	b := &Bench{Root: root, Dir: t.TempDir(), Suites: []suite{{of: "p"}}, Memory: 3 << 30}
	if err := b.Build(t.Context(), mutants); err == nil || !strings.Contains(err.Error(), "no mutant is to blame") {
		t.Error(err)
	}
}

func written(t *testing.T, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
