package cli

import (
	"bytes"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/util/templates"
)

// addCommands adds groups of commands to the root, and gives all of them kubectl's help. It does
// not list flags that all commands have: "options" does, as with kubectl.
func addCommands(root *cobra.Command, groups templates.CommandGroups) {
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.Message, Title: g.Message})
		for _, c := range g.Commands {
			c.GroupID = g.Message
		}
	}
	groups.Add(root)
	root.AddCommand(newOptions())
	help := newHelp()
	root.SetHelpCommand(help)
	root.AddCommand(help)
	each(root, func(c *cobra.Command) {
		c.DisableFlagsInUseLine = true
		strict(c)
	})
	templates.ActsAsRootCommand(root, nil, groups...)
	templates.NormalizeAll(root)
	root.SetFlagErrorFunc(misused)
	root.SetUsageFunc(withPluginName(root, root.UsageFunc()))
}

// each calls f for all commands below one.
func each(parent *cobra.Command, f func(*cobra.Command)) {
	for _, c := range parent.Commands() {
		f(c)
		each(c, f)
	}
}

// withPluginName returns a usage function that names the root as kubectl's users type it. The
// templates show the name of the executable where there are subcommands.
func withPluginName(root *cobra.Command, usage func(*cobra.Command) error) func(*cobra.Command) error {
	return func(cmd *cobra.Command) error {
		if !cmd.HasSubCommands() {
			return usage(cmd)
		}
		out, text := cmd.OutOrStdout(), bytes.Buffer{}
		cmd.SetOut(&text)
		defer cmd.SetOut(out)
		if err := usage(cmd); err != nil {
			return err
		}
		_, err := out.Write(bytes.ReplaceAll(text.Bytes(), []byte(root.Name()+" "), []byte(root.CommandPath()+" ")))
		return err
	}
}

func newOptions() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "options",
		Short:   "List the flags that all commands take",
		Long:    "List the flags that all commands take. All but --dial mean what they mean to kubectl.",
		Example: `kubectl tidb options`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Usage() },
	}
	templates.UseOptionsTemplates(cmd)
	// The help of that template is empty.
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { _ = cmd.Usage() })
	return cmd
}

// newHelp returns the command "help". Cobra's own one ends with success when there is no such
// command.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show help for a command",
		Example: `kubectl tidb help upgrade`,
		Args:    cobra.MaximumNArgs(3),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			at, err := find(cmd.Root(), args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			for _, c := range at.Commands() {
				if !c.Hidden {
					names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := find(cmd.Root(), args)
			if err != nil {
				return err
			}
			return at.Help()
		},
	}
}

// find returns the command that names lead to.
func find(at *cobra.Command, names []string) (*cobra.Command, error) {
	for _, name := range names {
		i := slices.IndexFunc(at.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
		if i < 0 {
			return nil, unknownCommand(at, name)
		}
		at = at.Commands()[i]
	}
	return at, nil
}
