// Package completion is the verb that prints what makes the shell complete the
// plugin's arguments.
package completion

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
)

// script is what kubectl looks for on the PATH, under the name
// kubectl_complete-tidb, and asks for completions of "kubectl tidb".
const script = `#!/bin/sh
exec kubectl tidb __complete "$@"
`

// shells are those that complete the arguments of the program when it is called
// without kubectl.
var shells = []string{"bash", "zsh", "fish", "powershell"}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "completion [bash|zsh|fish|powershell]",
		Short: "Print the script that completes arguments",
		Long: `Print the script with which kubectl completes the arguments of "kubectl tidb". It has
to be on the PATH, executable and under the name kubectl_complete-tidb. It works in
every shell in which kubectl's own completion does.

With the name of a shell, print what this shell loads to complete the arguments of
the program itself, "kubectl-tidb".`,
		Example: `  kubectl tidb completion > ~/.local/bin/kubectl_complete-tidb
  chmod +x ~/.local/bin/kubectl_complete-tidb

  # To complete "kubectl-tidb" in bash
  source <(kubectl tidb completion bash)`,
		ValidArgs: shells,
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				_, err := fmt.Fprint(f.Streams.Out, script)
				return err
			}
			return write(cmd.Root(), args[0], f.Streams.Out)
		},
	}
}

func write(root *cobra.Command, shell string, out io.Writer) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(out, true)
	case "zsh":
		return root.GenZshCompletion(out)
	case "fish":
		return root.GenFishCompletion(out, true)
	case "powershell":
		return root.GenPowerShellCompletionWithDesc(out)
	}
	return fmt.Errorf("no completion for the shell %q", shell)
}
