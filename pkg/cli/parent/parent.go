// Package parent makes commands that only have commands below them, such as "tls".
package parent

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// New makes cmd the parent of the others. Without a word behind it, cmd is refused with a list of the other
// commands, and so is a word that is none of them. cobra itself would print help and exit with 0, so that a script
// with a typing error would go on.
func New(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	var names []string
	for _, c := range below {
		names = append(names, c.Name())
	}
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New("say what to do: " + list(names, "or"))
		}
		return exit.Usagef("%q is none of %s", args[0], list(names, "and"))
	}
	cmd.RunE = func(*cobra.Command, []string) error { return nil } // Args has refused it
	cmd.AddCommand(below...)
	return cmd
}

// list returns names as a sentence lists them: "get, diff or set".
func list(names []string, last string) string {
	n := len(names) - 1
	return strings.Join(names[:n], ", ") + " " + last + " " + names[n]
}
