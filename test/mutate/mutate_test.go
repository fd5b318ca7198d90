package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const source = `package p

const most = 3

var hooks = []string{"a", "b"}

func f(n int, ok bool) bool {
	defer cancel()
	defer done()
	if n < most && ok {
		return true
	}
	for i := range n {
		if i == 2 {
			continue
		}
		n--
	}
	switch {
	case n > 0, !ok:
		n = min(n, 1)
	}
	return ok
}
`

// The mutants of a small file, all of them.
func TestMutants(t *testing.T) {
	found, err := Mutate("p/p.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range found {
		_, what, _ := strings.Cut(m.Key, " ")
		got = append(got, what)
	}
	want := []string{
		`hooks: var hooks = []string{["a", => nothing]"b"}`,
		`hooks: var hooks = []string{"a"[, "b" => nothing]}`,
		`f: [defer done() => nothing]`,
		`f: if [n < most && ok => !(n < most && ok)] {`,
		`f: if [n < most && => nothing]ok {`,
		`f: if n [< => <=] most && ok {`,
		`f: if n < most[&& ok => nothing] {`,
		`f: if n < most [&& => ||] ok {`,
		`f: [return true => nothing]`,
		`f: return [true => false]`,
		`f: if i [== => !=] 2 {`,
		`f: if i == [2 => 3] {`,
		`f: [continue => break]`,
		`f: [continue => nothing]`,
		`f: [n-- => nothing]`,
		`f: [case n > 0, !ok: n = min(n, 1) => nothing]`,
		`f: case [n > 0, => nothing]!ok:`,
		`f: case [n > 0 => !(n > 0)], !ok:`,
		`f: case n > 0[, !ok => nothing]:`,
		`f: case n [> => >=] 0, !ok:`,
		`f: case n > [0 => 1], !ok:`,
		`f: case n > 0, [! => nothing]ok:`,
		`f: [n = min(n, 1) => nothing]`,
		`f: n = [min => max](n, 1)`,
		`f: return [ok => !(ok)]`,
	}
	missing := map[string]bool{}
	for _, w := range want {
		missing[w] = true
	}
	for _, g := range got {
		if !missing[g] {
			t.Errorf("not wanted: %s", g)
		}
		delete(missing, g)
	}
	for w := range missing {
		t.Errorf("not found: %s", w)
	}
}

// A mutant's name must not depend on where in the file it is, and no two may
// have the same one: an explanation of one would excuse the other.
func TestKeys(t *testing.T) {
	root := filepath.Join("..", "..")
	all, err := Mutants(root, deciding)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range all {
		if seen[m.Key] {
			t.Errorf("twice: %s", m.Key)
		}
		seen[m.Key] = true
	}
	before, _ := Mutate("p/p.go", []byte(source))
	after, _ := Mutate("p/p.go", []byte(strings.Replace(source, "const most", "// A comment.\n\nconst most", 1)))
	for i := range before {
		if before[i].Key != after[i].Key {
			t.Errorf("%s became %s", before[i].Key, after[i].Key)
		}
	}
}

func TestReport(t *testing.T) {
	mutants := make([]Mutant, 20)
	verdicts := make([]Verdict, 20)
	for i := range mutants {
		mutants[i] = Mutant{File: "pkg/core/plan/x.go", Line: i, Key: string(rune('a' + i))}
		verdicts[i] = Killed
	}
	verdicts[1], verdicts[2] = NotCompiling, Survived
	cases := map[string]struct {
		allowed Allowed
		stale   []string
		least   float64
		ok      bool
		says    string
	}{
		"enough are killed":              {least: 94, ok: true, says: "94.7"},
		"too few are killed":             {least: 95, says: "pkg/core/plan/x.go:2: c"},
		"the survivor is explained":      {allowed: Allowed{"c": "equal"}, least: 100, ok: true, says: "100.0"},
		"what is explained is killed":    {allowed: Allowed{"d": "equal"}, least: 90, says: "explained as survivors, but"},
		"what is explained is not there": {stale: []string{"z"}, least: 90, says: "no such mutants"},
	}
	for name, c := range cases {
		var out bytes.Buffer
		if ok := report(&out, result{mutants, verdicts, c.allowed, c.stale}, c.least); ok != c.ok {
			t.Errorf("%s: %t\n%s", name, ok, out.String())
		}
		if !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: want %q in\n%s", name, c.says, out.String())
		}
	}
}

func TestAllow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "allowed.txt")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# why\n\np/p.go f: [a => b] -- the same by definition\n")
	allowed, err := Allow(path)
	if err != nil || allowed["p/p.go f: [a => b]"] != "the same by definition" {
		t.Errorf("%v, %v", allowed, err)
	}
	if stale := allowed.Stale([]Mutant{{Key: "p/p.go f: [a => c]"}}); len(stale) != 1 {
		t.Error(stale)
	}
	write("p/p.go f: [a => b]\n")
	if _, err := Allow(path); err == nil {
		t.Error("an entry without a reason is taken")
	}
}

func TestChoose(t *testing.T) {
	all := make([]Mutant, 100)
	for i := range all {
		all[i].Line = i
	}
	pick := func(sample int, seed uint64) []Mutant {
		return choose(all, options{only: regexp.MustCompile(""), sample: sample, seed: seed})
	}
	one, two, other := pick(10, 1), pick(10, 1), pick(10, 2)
	same := true
	for i := range one {
		if one[i].Line != two[i].Line || i > 0 && one[i].Line <= one[i-1].Line {
			t.Errorf("%d: %d and %d", i, one[i].Line, two[i].Line)
		}
		same = same && one[i].Line == other[i].Line
	}
	if same || len(one) != 10 || len(pick(0, 0)) != 100 {
		t.Error(one, other)
	}
}

// Files for one operating system, or for all others, have no mutants.
func TestEverywhere(t *testing.T) {
	f := "package p\n\nfunc f(n int) bool { return n > 0 }\n"
	root := written(t, map[string]string{
		"p/p.go": f, "p/p_linux.go": f, "p/p_darwin.go": f, "p/p_windows.go": f, "p/p_test.go": f,
		"p/other.go": "//go:build !linux && !darwin\n\n" + f,
	})
	all, err := Mutants(root, []string{"p"})
	if err != nil || len(all) == 0 {
		t.Fatalf("%d mutants, %v", len(all), err)
	}
	for _, m := range all {
		if m.File != "p/p.go" {
			t.Error(m.Key)
		}
	}
}
