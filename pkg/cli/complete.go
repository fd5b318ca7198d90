package cli

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
)

// completeFlags completes those of kubectl's flags that name something.
func completeFlags(root *cobra.Command, f *factory.Factory) {
	complete := func(flag string, look func(context.Context) []string) {
		// The only error is a flag that does not exist.
		_ = root.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return target.Within(cmd.Context(), look), cobra.ShellCompDirectiveNoFileComp
		})
	}
	complete("namespace", func(ctx context.Context) []string { return namespaces(ctx, f) })
	complete("context", func(context.Context) []string { return slices.Sorted(maps.Keys(kubeconfig(f).Contexts)) })
	complete("cluster", func(context.Context) []string { return slices.Sorted(maps.Keys(kubeconfig(f).Clusters)) })
	complete("user", func(context.Context) []string { return slices.Sorted(maps.Keys(kubeconfig(f).AuthInfos)) })
}

func kubeconfig(f *factory.Factory) api.Config {
	raw, _ := f.Flags.ToRawKubeConfigLoader().RawConfig()
	return raw
}

func namespaces(ctx context.Context, f *factory.Factory) []string {
	kube, err := f.Kube()
	if err != nil {
		return nil
	}
	list, err := kube.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	var names []string
	for _, ns := range list.Items {
		names = append(names, ns.Name)
	}
	return names
}
