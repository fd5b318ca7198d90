// Package contexts is the flag --contexts. A command that only reads runs for several contexts of the kubeconfig at the
// same time, and makes one output.
//
// Read each.go first. A command is one function, which is called once, or once for each context with a factory of that
// context. What does not answer is unknown, which is neither absent nor healthy.
package contexts

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
)

// Flag has the patterns of --contexts.
type Flag struct {
	patterns []string
	flag     *pflag.Flag
	not      []string // flags of the command that are not for several contexts
}

const flagName = "contexts"

// single are flags that name a single context or cluster, or a user of one. A token would be sent to all API servers.
var single = []string{
	"context", "cluster", "server", "expect-context", "expect-uid",
	"user", "token", "client-certificate", "client-key", "certificate-authority", "tls-server-name",
}

// Bind adds the flag to a command. Does says what the command does, e.g. "List". Not names flags of the command that do
// not go with several contexts.
func (c *Flag) Bind(cmd *cobra.Command, f *factory.Factory, does string, not ...string) {
	c.not = not
	cmd.Flags().StringSliceVar(&c.patterns, flagName, nil,
		does+" in each of these contexts of the kubeconfig: names or patterns with commas between them, e.g. 'prod-*,staging'.")
	c.flag = cmd.Flags().Lookup(flagName)
	// The only error is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc(flagName, complete(f))
}

// Given reports whether the command is for several contexts. An empty value, as of a variable of a shell that is not set,
// is not for the current context alone.
func (c *Flag) Given() bool { return c.flag != nil && c.flag.Changed }

// String returns the value of the flag.
func (c *Flag) String() string { return strings.Join(c.patterns, ",") }

// Validate checks what is known from the flags alone.
func (c *Flag) Validate(set *pflag.FlagSet) error {
	if !set.Changed(flagName) {
		return nil
	}
	if len(c.patterns) == 0 || slices.Contains(c.patterns, "") {
		return exit.Usagef("--%s needs names or patterns of contexts, such as --%s 'prod-*'", flagName, flagName)
	}
	for _, name := range slices.Concat(single, c.not) {
		if set.Changed(name) {
			return exit.Usagef("--%s does not go with --%s: leave out one of them", flagName, name)
		}
	}
	return nil
}

// complete completes the name after the last comma.
func complete(f *factory.Factory) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
		raw, err := f.Kubeconfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		at := strings.LastIndex(begin, ",") + 1
		given := strings.Split(begin[:at], ",")
		var all []string
		for _, name := range namesOf(raw) {
			if strings.HasPrefix(name, begin[at:]) && !slices.Contains(given, name) {
				all = append(all, begin[:at]+name)
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}
