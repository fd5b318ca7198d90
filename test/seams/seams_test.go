package seams

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// own are the files in which a component may be distinguished from the others: those that are
// about one component alone.
var own = regexp.MustCompile(`/(pd|tiproxy|tikv|tiflash|tidb|ticdc|pump)[a-z]*\.go$`)

// TestComponentsAreData: no code asks which component it has. What components
// differ in are fields of their rows and of their Profile, so that to add a component
// is to add rows.
func TestComponentsAreData(t *testing.T) {
	for _, file := range sources(t) {
		if own.MatchString(file) {
			continue
		}
		for _, at := range asked(t, file) {
			t.Errorf("%s: asks which component it is: make what differs a field of the component's row", at)
		}
	}
}

// sources are the Go files of pkg and of the simulation without their tests.
func sources(t *testing.T) []string {
	t.Helper()
	var files []string
	for root, least := range map[string]int{"../../pkg": 100, "../sim": 50} {
		before := len(files)
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
				files = append(files, filepath.ToSlash(name))
			}
			return err
		})
		if found := len(files) - before; err != nil || found < least {
			t.Fatalf("%s: found %d files: %v", root, found, err)
		}
	}
	return files
}

// TestWhatIsFound: the ways to ask are found, and the use of a component is not one.
func TestWhatIsFound(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.go")
	text := `package sim
func f(k topology.Kind) {
	_ = k == topology.PD
	_ = topology.TiKV != k
	switch k {
	case topology.TiDB:
	case other, topology.PD:
	}
	_ = groups[topology.PD]
	_ = k.Data() == topology.Raft
	_ = k == tikv || w.pd == nil || w.pods[pd] == nil
	_ = k == topology.TiProxy || k == ticdc || k != topology.Pump
}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := asked(t, file); len(got) != 8 {
		t.Errorf("got %q", got)
	}
}

// asked are the places where a file compares something with a component.
func asked(t *testing.T, file string) []string {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	note := func(e ast.Expr) {
		if isComponent(e, parsed.Name.Name) {
			all = append(all, set.Position(e.Pos()).String())
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				note(n.X)
				note(n.Y)
			}
		case *ast.CaseClause:
			for _, e := range n.List {
				note(e)
			}
		}
		return true
	})
	return all
}

// isComponent reports whether an expression in a package is a component by its name: a constant of topology.Kind, whose
// name is the component's title, or the number by which the simulation indexes the component.
func isComponent(e ast.Expr, pkg string) bool {
	has := func(name func(topology.Kind) string, in string) bool {
		return slices.ContainsFunc(topology.Kinds(), func(k topology.Kind) bool { return name(k) == in })
	}
	switch e := e.(type) {
	case *ast.Ident:
		return pkg == "topology" && has(topology.Kind.Title, e.Name) ||
			pkg == "sim" && has(func(k topology.Kind) string { return string(k) }, e.Name)
	case *ast.SelectorExpr:
		from, ok := e.X.(*ast.Ident)
		return ok && from.Name == "topology" && has(topology.Kind.Title, e.Sel.Name)
	}
	return false
}
