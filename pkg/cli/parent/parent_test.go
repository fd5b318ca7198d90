package parent

import (
	"io"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// TestNew: only the commands below a parent do anything, and everything else is refused with their names.
func TestNew(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
		code exit.Code
	}{
		{[]string{"get"}, "", exit.OK},
		{nil, "say what to do: get, diff or set", exit.Failure},
		{[]string{"gte"}, `"gte" is none of get, diff and set`, exit.Usage},
	} {
		ran := false
		below := func(name string) *cobra.Command {
			return &cobra.Command{Use: name, Run: func(*cobra.Command, []string) { ran = true }}
		}
		cmd := New(&cobra.Command{Use: "config", SilenceUsage: true, SilenceErrors: true}, below("get"), below("diff"), below("set"))
		cmd.SetOut(io.Discard)
		cmd.SetArgs(append([]string{}, test.args...))
		err := cmd.Execute()
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != test.want || exit.Of(err) != test.code || ran != (test.want == "") {
			t.Errorf("%v: %q with code %d, ran: %t", test.args, got, exit.Of(err), ran)
		}
	}
}
