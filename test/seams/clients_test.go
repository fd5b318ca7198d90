package seams

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ways are the identifiers by which a request or a connection can be made without package dial, which refuses addresses
// that are no members, and follows no redirect.
var ways = []string{
	"http.Client", "http.Transport", "http.DefaultClient", "http.DefaultTransport", "http.Get", "http.Head", "http.Post",
	"http.PostForm", "net.Dialer", "net.Dial", "net.DialTimeout", "net.DialTCP", "tls.Dial", "tls.DialWithDialer", "tls.Dialer",
	"dial.NewPods", "dial.NewDirect", "dial.DirectFrom", "dial.Any",
}

// others are what is asked besides members, and the two makers of dialers.
var others = []struct{ file, way, what string }{
	{"pkg/cli/apply/sources.go", "http.DefaultClient", "an URL that the user has given"},
	{"pkg/cli/factory/dialer.go", "dial.NewPods", "the dialer of a command"},
	{"pkg/cli/factory/dialer.go", "dial.NewDirect", "the dialer of a command"},
	{"pkg/loop/daemon/daemon.go", "dial.DirectFrom", "the dialer of a daemon"},
}

// TestMembersAreAskedThroughDial: no package makes a client or a connection of its own. One that did could be sent by a
// member to any address.
func TestMembersAreAskedThroughDial(t *testing.T) {
	used := map[int]bool{}
	for _, file := range sources(t) {
		if strings.Contains(filepath.ToSlash(file), "pkg/edge/dial/") {
			continue
		}
		for _, at := range made(t, file) {
			i := slices.IndexFunc(others, func(o struct{ file, way, what string }) bool {
				return strings.HasSuffix(filepath.ToSlash(file), o.file) && strings.HasSuffix(at, " "+o.way)
			})
			if i < 0 {
				t.Errorf("%s: ask members with dial.Client, and connect with dial.Of", at)
				continue
			}
			used[i] = true
		}
	}
	for i, o := range others {
		if !used[i] {
			t.Errorf("%s does not use %s any more: take it off the list", o.file, o.way)
		}
	}
}

// TestMadeIsFound: all forms in which one can be made are found. A client that is only handed on is not.
func TestMadeIsFound(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.go")
	text := `package x
type c struct{ HTTP *http.Client }
func f(client *http.Client) {
	a := http.Client{}
	b := &http.Client{Transport: &http.Transport{}}
	var d net.Dialer
	_ = new(http.Client)
	_, _ = http.Get("x")
	_ = http.DefaultClient.Do
}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, at := range made(t, file) {
		lines = append(lines, strings.Split(strings.Fields(at)[0], ":")[1])
	}
	if got := strings.Join(lines, " "); got != "4 5 5 6 7 8 9" {
		t.Errorf("found in lines %s", got)
	}
}

// made returns the places of a file that name one of the ways, but for pointers to it, which only hand one on.
func made(t *testing.T, name string) []string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StarExpr:
			return false
		case *ast.SelectorExpr:
			of, ok := n.X.(*ast.Ident)
			if ok && slices.Contains(ways, of.Name+"."+n.Sel.Name) {
				p := set.Position(n.Pos())
				all = append(all, fmt.Sprintf("%s:%d %s.%s", p.Filename, p.Line, of.Name, n.Sel.Name))
			}
		}
		return true
	})
	return all
}
