package cli

import (
	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/util/completion"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
)

// completeFlags completes the flags of kubectl that name something, as kubectl does.
func completeFlags(root *cobra.Command, f *factory.Factory) {
	kubectl := f.Kubectl()
	completion.SetFactoryForCompletion(kubectl)
	for flag, find := range map[string]func(begin string) []string{
		"namespace": func(begin string) []string { return completion.CompGetResource(kubectl, "namespaces", begin) },
		"context":   completion.ListContextsInConfig,
		"cluster":   completion.ListClustersInConfig,
		"user":      completion.ListUsersInConfig,
	} {
		// The only error is a flag that does not exist.
		_ = root.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
			return target.Within(cmd.Context(), func() []string { return find(begin) }), cobra.ShellCompDirectiveNoFileComp
		})
	}
}
