package remedy_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// TestText: commands name the context, however deep in an error they are.
func TestText(t *testing.T) {
	goOn := remedy.Run("go on", remedy.Plugin("db", "sync", "basic"))
	refused := remedy.For(errors.New("no"), goOn)
	other := remedy.For(fs.ErrNotExist, remedy.Say("add a store"), remedy.Run("", remedy.Kubectl("db", "get", "pods")))
	const sync, pods = "go on: kubectl tidb sync basic -n db", "add a store; or kubectl get pods -n db"
	for _, c := range []struct {
		name string
		err  error
		want string // with %s where the context is
	}{
		{"no remedy", errors.New("no"), "no"},
		{"none given", remedy.For(errors.New("no")), "no"},
		{"one", refused, "no; " + sync + "%[1]s"},
		{"wrapped", fmt.Errorf("tidb: %w, twice", refused), "tidb: no; " + sync + "%[1]s, twice"},
		{"several", fmt.Errorf("two:\n  %w\n  %w", refused, other), "two:\n  no; " + sync + "%[1]s\n  file does not exist; " + pods + "%[1]s"},
		{"joined", errors.Join(other, refused), "file does not exist; " + pods + "%[1]s\nno; " + sync + "%[1]s"},
		{"the same twice", errors.Join(refused, refused), "no; " + sync + "%[1]s\nno; " + sync + "%[1]s"},
		{"one around another", remedy.For(fmt.Errorf("more: %w", refused), goOn), "more: no; " + sync + "%[1]s; " + sync + "%[1]s"},
		{"without words of its own", remedy.For(silent{}, goOn), sync + "%[1]s"},
		{"around one that says nothing", wrapper{silent{}}, "wrapped"},
		{"around none", wrapper{}, "wrapped"},
		{"whose words are others", wrapper{refused}, "wrapped"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			for context, flag := range map[string]string{"": "", "a b": " --context 'a b'"} {
				if c.want != "no" && c.want != "wrapped" {
					want = fmt.Sprintf(c.want, flag)
				}
				if got := remedy.Text(c.err, context); got != want {
					t.Errorf("context %q\ngot  %s\nwant %s", context, got, want)
				}
				if context == "" && c.err.Error() != want {
					t.Errorf("Error() is %s", c.err)
				}
			}
		})
	}
	if !errors.Is(other, fs.ErrNotExist) || len(remedy.Of(fmt.Errorf("x: %w", other))) != 2 || remedy.Of(fs.ErrNotExist) != nil {
		t.Error("an error is not found in another")
	}
}

type silent struct{}

func (silent) Error() string { return "" }

type wrapper struct{ err error }

func (wrapper) Error() string   { return "wrapped" }
func (w wrapper) Unwrap() error { return w.err }
