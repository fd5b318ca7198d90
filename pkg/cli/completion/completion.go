// Package completion is the verb that prints what makes the shell complete the
// plugin's arguments.
package completion

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
)

// script is what kubectl looks for on the PATH, under the name
// kubectl_complete-tidb, and asks for completions of "kubectl tidb".
const script = `#!/bin/sh
exec kubectl tidb __complete "$@"
`

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "completion",
		Short: "Print the script that completes arguments",
		Long: `Print the script with which kubectl completes the arguments of "kubectl tidb". It has
to be on the PATH, executable and under the name kubectl_complete-tidb. It works in
every shell in which kubectl's own completion does.`,
		Example: `  kubectl tidb completion > ~/.local/bin/kubectl_complete-tidb
  chmod +x ~/.local/bin/kubectl_complete-tidb`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(f.Streams.Out, script)
			return err
		},
	}
}
