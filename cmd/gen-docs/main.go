// Command gen-docs writes docs/reference. That is the manual of all commands, from the command tree, and the rights
// that commands need, from package rbac. What commands wait for comes from package plan.
package main

//go:generate go run . ../../docs/reference

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gen-docs:", err)
		os.Exit(1)
	}
}

// run replaces what is in the directory, so that the page of a command that is
// gone goes, too.
func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("give the directory to write to")
	}
	old, err := filepath.Glob(filepath.Join(args[0], "*.md"))
	if err != nil {
		return err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	for name, text := range pages() {
		if err := os.WriteFile(filepath.Join(args[0], name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// pages are the manual's files by name.
func pages() map[string]string {
	root := cli.NewRoot(factory.New(genericiooptions.IOStreams{}, func(string) string { return "" }, ""))
	// Its default is a directory of the user who runs this.
	root.PersistentFlags().Lookup("cache-dir").DefValue = "$HOME/.kube/cache"
	out := map[string]string{"README.md": index(root), "permissions.md": permissions(), "reasons.md": reasons(), "findings.md": findings()}
	for _, c := range root.Commands() {
		if hasPage(c) {
			out[c.Name()+".md"] = page(c)
		}
	}
	return out
}

// hasPage reports whether a command has a page: help and options print what other pages have.
func hasPage(c *cobra.Command) bool { return c.Name() != "help" && c.Name() != "options" }

const generated = "<!-- Made by cmd/gen-docs: change the command, then run make generate. -->\n"

func index(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s# %s\n\n%s\n", generated, root.CommandPath(), paragraphs(root.Long))
	for _, group := range root.Groups() {
		fmt.Fprintf(&b, "\n## %s\n\n| Command | |\n| --- | --- |\n", strings.TrimSuffix(group.Title, ":"))
		for _, c := range root.Commands() {
			switch {
			case c.GroupID != group.ID:
			case hasPage(c):
				fmt.Fprintf(&b, "| [%s](%s.md) | %s |\n", c.Name(), c.Name(), c.Short)
			default:
				fmt.Fprintf(&b, "| %s | %s |\n", c.Name(), c.Short)
			}
		}
	}
	b.WriteString("\nAll commands end with one of these [exit codes](../exit-codes.md), and need these [permissions](permissions.md).\n\n## Flags of all commands\n\n" +
		"All but `--dial` mean what they mean to kubectl. They go after `tidb`: kubectl takes none before the name of a plugin.\n\n")
	block(&b, "", root.PersistentFlags().FlagUsagesWrapped(100))
	return b.String()
}

// page is the page of a command. Subcommands are on the page below the command.
func page(c *cobra.Command) string {
	var b strings.Builder
	b.WriteString(generated)
	manual(&b, "#", c)
	parts := commandsBelow(c)
	for i, part := range parts {
		if i == 0 {
			b.WriteString("\n| Command | |\n| --- | --- |\n")
		}
		anchor, name := strings.ReplaceAll(part.CommandPath(), " ", "-"), strings.TrimPrefix(part.CommandPath(), c.Parent().CommandPath()+" ")
		fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", name, anchor, part.Short)
	}
	for _, part := range parts {
		b.WriteString("\n")
		manual(&b, "##", part)
	}
	b.WriteString("\n## See also\n\n* [flags of all commands](README.md#flags-of-all-commands)\n* [exit codes](../exit-codes.md)\n")
	if slices.ContainsFunc(append(parts, c), drives) {
		b.WriteString("* [events](../events.md), which `-o json` writes\n")
	}
	return b.String()
}

// commandsBelow returns the commands below a command that do something, on all levels.
func commandsBelow(c *cobra.Command) (all []*cobra.Command) {
	for _, part := range c.Commands() {
		if part.HasSubCommands() {
			all = append(all, commandsBelow(part)...)
			continue
		}
		all = append(all, part)
	}
	return all
}

// drives reports whether a command drives a cluster, and so writes events.
func drives(c *cobra.Command) bool { return c.Flags().Lookup("no-follow") != nil }

// manual writes the description, the examples and the flags of a command. The heading has a level such as "##".
func manual(b *strings.Builder, level string, c *cobra.Command) {
	long := c.Long
	if long == "" {
		long = c.Short + "."
	}
	fmt.Fprintf(b, "%s %s\n\n%s\n\n", level, c.CommandPath(), paragraphs(long))
	block(b, "", c.UseLine())
	if c.HasExample() {
		fmt.Fprintf(b, "\n%s# Examples\n\n", level)
		block(b, "sh", strings.TrimPrefix(strings.ReplaceAll(c.Example, "\n  ", "\n"), "  "))
	}
	if c.HasAvailableLocalFlags() {
		fmt.Fprintf(b, "\n%s# Flags\n\n", level)
		block(b, "", c.LocalFlags().FlagUsagesWrapped(100))
	}
}

// paragraphs removes the space before each paragraph but the first, which kubectl's help has.
func paragraphs(long string) string { return strings.ReplaceAll(long, "\n ", "\n") }

func block(b *strings.Builder, language, text string) {
	fmt.Fprintf(b, "```%s\n%s\n```\n", language, strings.TrimRight(text, "\n"))
}
