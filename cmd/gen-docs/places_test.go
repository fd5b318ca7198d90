package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// numbered matches the beginning of a rule of architecture.md.
	numbered = regexp.MustCompile(`(?m)^(\d+)\. `)
	// place matches the code that holds a rule: a package and a function, a variable or a type, or a method of a type.
	place = regexp.MustCompile("`([a-z]+(?:\\.[A-Za-z]+){1,2})`")
)

// TestPlacesOfRules: each rule of safety names the code that holds it, and this code exists.
func TestPlacesOfRules(t *testing.T) {
	_, section, _ := strings.Cut(documents(t)["docs/architecture.md"], "\n## What makes it safe\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if n := len(numbered.FindAllString(section, -1)); n < 30 {
		t.Errorf("docs/architecture.md has %d rules, wanted at least 30", n)
	}
	for _, w := range wrongRules(section, declared(t)) {
		t.Errorf("docs/architecture.md: %s", w)
	}
}

// wrongRules returns the rules of a text that name no code, or code that does not exist.
func wrongRules(text string, exist map[string]bool) []string {
	var wrong []string
	starts := numbered.FindAllStringSubmatchIndex(text, -1)
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		rule := "rule " + text[at[2]:at[3]]
		_, held, _ := strings.Cut(text[at[0]:end], "Held by ")
		places := place.FindAllStringSubmatch(held, -1)
		if len(places) == 0 {
			wrong = append(wrong, rule+" does not say which code holds it")
		}
		for _, p := range places {
			if !exist[p[1]] {
				wrong = append(wrong, rule+": "+p[1]+" does not exist in pkg")
			}
		}
	}
	return wrong
}

// declared returns the names of what the packages declare, such as plan.Decide and plan.Scope.repair.
func declared(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir(repository+"/pkg", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			for _, name := range namesOf(decl) {
				names[file.Name.Name+"."+name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// namesOf returns the names that a declaration declares; that of a method begins with its type.
func namesOf(decl ast.Decl) []string {
	var names []string
	switch d := decl.(type) {
	case *ast.FuncDecl:
		return []string{receiver(d) + d.Name.Name}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	return names
}

// receiver returns the type of a method with a dot, and nothing for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	of := d.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}

// TestWrongRules: a rule without code, and one with code that does not exist, are found.
func TestWrongRules(t *testing.T) {
	exist := map[string]bool{"plan.Decide": true, "act.Actor.restart": true}
	for text, want := range map[string]string{
		"1. A rule. Held by `plan.Decide`,\n   `act.Actor.restart`.\n":               "",
		"1. A rule of `plan.Decide`.\n2. Another one. Held by `plan.Decide`.\n":      "rule 1 does not say which code holds it",
		"1. A rule. Held by `plan.Decide`.\n2. Another one. Held by `plan.Gone`.\n":  "rule 2: plan.Gone does not exist in pkg",
		"10. A rule. Held by `plan.Decide`, `act.Actor.gone`.\n\n### More\n\nText\n": "rule 10: act.Actor.gone does not exist in pkg",
	} {
		if got := strings.Join(wrongRules(text, exist), "\n"); got != want {
			t.Errorf("of %q got %q, wanted %q", text, got, want)
		}
	}
}
