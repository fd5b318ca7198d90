package target

import (
	"context"
	"slices"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
)

// completionTimeout: a shell that hangs at Tab is worse than one that knows no
// name.
const completionTimeout = time.Second

// Complete completes a cluster's name as the first argument.
func Complete(f *factory.Factory) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found := Within(cmd.Context(), func(ctx context.Context) []string {
			var names []string
			for _, tc := range here(ctx, f) {
				names = append(names, tc.Name)
			}
			return names
		})
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteVersion completes a version with those that the namespace's clusters
// are to have: a new cluster, or the next one to upgrade, mostly follows one.
func CompleteVersion(f *factory.Factory) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		found := Within(cmd.Context(), func(ctx context.Context) []string {
			var versions []string
			for _, tc := range here(ctx, f) {
				if v := tc.Spec.Version; v != "" {
					versions = append(versions, v)
				}
			}
			slices.Sort(versions)
			return slices.Compact(versions)
		})
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// here are the clusters of the namespace, none if they cannot be listed: there
// is nobody to tell why.
func here(ctx context.Context, f *factory.Factory) []v1alpha1.TidbCluster {
	namespace, err := f.Namespace()
	if err != nil {
		return nil
	}
	clusters, _ := clusters(ctx, f, namespace)
	return clusters
}

// Within looks something up for a completion, and gives up in time. A program
// that the kubeconfig names for getting credentials does not heed a context.
func Within(ctx context.Context, look func(context.Context) []string) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	found := make(chan []string, 1)
	go func() { found <- look(ctx) }()
	select {
	case names := <-found:
		return names
	case <-ctx.Done():
		return nil
	}
}
