package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// usage shows a command without kubectl's flags. Those are the same twenty
// everywhere, and the few that matter would drown in them; as with kubectl,
// "options" lists them.
func usage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.HasParent() {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	} else {
		fmt.Fprintf(&b, "  %s COMMAND [flags]\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	for _, group := range cmd.Groups() {
		fmt.Fprintf(&b, "\n%s\n", group.Title)
		for _, c := range cmd.Commands() {
			if c.GroupID == group.ID {
				fmt.Fprintf(&b, "  %-*s  %s\n", c.NamePadding(), c.Name(), c.Short)
			}
		}
	}
	if cmd.HasParent() && cmd.HasAvailableLocalFlags() {
		fmt.Fprintf(&b, "\nFlags:\n%s", cmd.LocalFlags().FlagUsagesWrapped(wide))
	}
	b.WriteByte('\n')
	if !cmd.HasParent() {
		fmt.Fprintf(&b, "Use \"%s COMMAND --help\" for more about a command.\n", cmd.CommandPath())
	}
	fmt.Fprintf(&b, "Use \"%s options\" for the flags that all commands take, such as -n and --context.\n", cmd.Root().CommandPath())
	_, err := io.WriteString(cmd.OutOrStderr(), b.String())
	return err
}

// wide is where descriptions of flags are wrapped.
const wide = 100

func newOptions() *cobra.Command {
	return &cobra.Command{
		Use:     "options",
		Short:   "List the flags that all commands take",
		Example: `  kubectl tidb options`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Fprintf(cmd.OutOrStdout(), "All commands take these flags, which all but --dial mean what they mean to kubectl:\n\n%s",
				cmd.Root().PersistentFlags().FlagUsagesWrapped(wide))
			return nil
		},
	}
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show help for a command",
		Example: `  kubectl tidb help upgrade`,
		Args:    cobra.MaximumNArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, c := range cmd.Root().Commands() {
				if len(args) == 0 {
					names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			if len(args) == 0 {
				return root.Help()
			}
			for _, c := range root.Commands() {
				if c.Name() == args[0] {
					return c.Help()
				}
			}
			return unknown(root, args[0])
		},
	}
}
