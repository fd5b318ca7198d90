// Package completion is the verb that prints, or installs, what makes the shell complete the
// plugin's arguments.
package completion

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
)

// kubectlName is the program that kubectl looks for on the PATH, and asks for completions of
// "kubectl tidb".
const kubectlName = "kubectl_complete-tidb"

// script is that program.
const script = `#!/bin/sh
exec kubectl tidb __complete "$@"
`

// shells are those that complete the arguments of the program when it is called
// without kubectl.
var shells = []string{"bash", "zsh", "fish", "powershell"}

// install is the argument with which it is installed.
const install = "install"

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "completion [install] [bash|zsh|fish|powershell]",
		Short: "Complete arguments in the shell",
		Long: `Print the script with which kubectl completes the arguments of "kubectl tidb". It has
to be on the PATH, executable and under the name kubectl_complete-tidb. It works in
every shell in which kubectl's own completion does.

With the name of a shell, print what this shell loads to complete the arguments of
the program itself, "kubectl-tidb".

With "install", write these files to where they are found, say where that is, and
what is left to do. A file that is there with other contents is replaced only if it
was written by this command. To install them again changes nothing.

Names of clusters, their versions and pods are completed from the cluster, within a
second; without an answer nothing is completed.`,
		Example: `  kubectl tidb completion install

  # For "kubectl-tidb" without kubectl as well
  kubectl tidb completion install fish

  # By hand
  kubectl tidb completion > ~/.local/bin/kubectl_complete-tidb
  chmod +x ~/.local/bin/kubectl_complete-tidb

  # To complete "kubectl-tidb" in bash
  source <(kubectl tidb completion bash)`,
		ValidArgs: append([]string{install}, shells...),
		Args:      arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] == install {
				return placesOf(f.Env, runtime.GOOS, dir).install(f.Streams.Out, cmd.Root(), strings.Join(args[1:], ""))
			}
			if dir != "" {
				return exit.Usagef("--dir goes with install")
			}
			if len(args) == 0 {
				_, err := fmt.Fprint(f.Streams.Out, script)
				return err
			}
			return write(cmd.Root(), args[0], f.Streams.Out)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "With install, the folder for kubectl_complete-tidb, which has to be on the PATH. Without it that of the plugin, or ~/.local/bin.")
	_ = cmd.MarkFlagDirname("dir")
	return cmd
}

func arguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 && args[0] == install {
		args = args[1:]
	}
	if len(args) > 1 {
		return errors.New("accepts at most 1 arg, the name of a shell")
	}
	for _, shell := range args {
		if !slices.Contains(shells, shell) {
			return fmt.Errorf("no completion for the shell %q; there is one for %s", shell, strings.Join(shells, ", "))
		}
	}
	return nil
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

func text(root *cobra.Command, shell string) ([]byte, error) {
	var b bytes.Buffer
	err := write(root, shell, &b)
	return b.Bytes(), err
}
