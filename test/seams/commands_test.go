package seams

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// handmade is a command of kubectl that is written as text and has objects or a
// namespace, so that a person would paste it.
var handmade = regexp.MustCompile(`kubectl (config|get|describe|patch|edit|label|annotate|delete|exec|create|apply|logs|scale) |` +
	`kubectl tidb [a-z]+ [^"]*(%[a-z\[]|-n )`)

// helps are the fields of a command of the CLI that say what it is for, and give
// examples. Their readers put in names, and a context, of their own.
var helps = []string{"Long", "Short", "Example", "Use"}

// sentences have the words without being commands.
var sentences = regexp.MustCompile(`kubectl tidb (does not know|keeps region leaders|cannot read)`)

// TestCommandsAreData: a command that is shown is made by package remedy, which quotes
// it for a shell and has it name the kubeconfig context. One that is written by hand
// names none, and changes another cluster where another one is current.
func TestCommandsAreData(t *testing.T) {
	for _, file := range sources(t) {
		for _, at := range written(t, file) {
			t.Errorf("%s: a command written by hand: make it with package remedy", at)
		}
	}
}

// TestHandmadeIsFound: commands in literals are found, also in those that are put together.
func TestHandmadeIsFound(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.go")
	text := `package x
var c = cobra.Command{
	Long: "see kubectl get pods -n db",
}
func f() {
	_ = fmt.Sprintf("go on with: kubectl tidb sync %s -n %s", a, b)
	_ = "see kubectl tidb " + "status " + name
	_ = ` + "`kubectl patch tc basic -p '{}'`" + `
	_ = "this version of kubectl tidb does not know %s"
	_ = "use kubectl tidb delete"
}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, at := range written(t, file) {
		lines = append(lines, strings.Split(at, ":")[1])
	}
	if got := strings.Join(lines, " "); got != "6 7 8" {
		t.Errorf("found in lines %s", got)
	}
}

// written returns the places of a file with a command that is written by hand.
func written(t *testing.T, name string) []string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.KeyValueExpr:
			key, ok := n.Key.(*ast.Ident)
			return !ok || !slices.Contains(helps, key.Name)
		case *ast.BinaryExpr, *ast.BasicLit:
			s := value(n.(ast.Expr))
			if handmade.MatchString(s) && !sentences.MatchString(s) {
				p := set.Position(n.Pos())
				all = append(all, fmt.Sprintf("%s:%d", p.Filename, p.Line))
				return false
			}
		}
		return true
	})
	return all
}

// value returns the text that an expression comes to, with %s for what only a run knows.
func value(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return s
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return value(e.X) + value(e.Y)
		}
	}
	return "%s"
}
