package target

import (
	"context"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
)

// Found are the flags -l and -A, with which a command finds clusters.
type Found struct {
	Selector      string
	AllNamespaces bool
}

// Bind adds the flags to a command. Does says what the command does with clusters, e.g. "List".
func (o *Found) Bind(cmd *cobra.Command, does string) {
	cmd.Flags().StringVarP(&o.Selector, "selector", "l", "", does+" the clusters whose TidbClusters have these labels, e.g. env=prod,tier!=test.")
	cmd.Flags().BoolVarP(&o.AllNamespaces, "all-namespaces", "A", false, does+" the clusters of all namespaces.")
}

// Validate checks the flags.
func (o *Found) Validate() error {
	if _, err := labels.Parse(o.Selector); err != nil {
		return exit.Usagef("--selector %q: %w", o.Selector, err)
	}
	return nil
}

// List returns the clusters that the flags find, and the namespace that it has looked in, "" for
// all. Clusters that cannot be decoded are in the list, with an error.
func (o *Found) List(ctx context.Context, f *factory.Factory) (namespace string, clusters []v1alpha1.TidbCluster, err error) {
	if namespace, err = f.Namespace(); err != nil {
		return "", nil, err
	}
	if o.AllNamespaces {
		namespace = ""
	}
	client, err := f.Intent()
	if err != nil {
		return namespace, nil, err
	}
	clusters, err = client.List(ctx, namespace, o.Selector)
	return namespace, clusters, err
}

// Watch sends a value whenever one of the TidbClusters changes, until ctx ends. Several changes at the same time are
// one value.
func (o *Found) Watch(ctx context.Context, f *factory.Factory) (<-chan struct{}, error) {
	namespace, err := f.Namespace()
	if err != nil {
		return nil, err
	}
	if o.AllNamespaces {
		namespace = ""
	}
	client, err := f.Intent()
	if err != nil {
		return nil, err
	}
	return client.Watch(ctx, namespace, o.Selector)
}

// Several says which clusters a command is meant for: clusters that are named, or clusters that are found.
type Several struct {
	Names []string
	All   bool
	Found
}

// Bind adds the flags to a command.
func (o *Several) Bind(cmd *cobra.Command, does string) {
	o.Found.Bind(cmd, does)
	cmd.Flags().BoolVar(&o.All, "all", false, does+" all clusters of the namespace, or with -A of all namespaces.")
}

// Validate checks that clusters are named in one way, and never all of them by mistake.
func (o *Several) Validate() error {
	names := strings.Join(o.Names, " ")
	switch {
	case names == "" && o.Selector == "" && !o.All:
		return exit.Usagef("name the clusters, or give -l or --all")
	case names != "" && (o.Selector != "" || o.All || o.AllNamespaces):
		return exit.Usagef("names do not go with -l, --all or -A: leave out either %s or the flags", names)
	case o.Selector != "" && o.All:
		return exit.Usagef("--all does not go with -l")
	}
	return o.Found.Validate()
}

// Resolve returns the clusters, each once.
func (o *Several) Resolve(ctx context.Context, f *factory.Factory) ([]cache.ObjectName, error) {
	var all []cache.ObjectName
	if len(o.Names) > 0 {
		namespace, err := f.Namespace()
		if err != nil {
			return nil, err
		}
		seen := map[string]bool{}
		for _, name := range o.Names {
			if !seen[name] {
				all = append(all, cache.NewObjectName(namespace, name))
			}
			seen[name] = true
		}
		return all, nil
	}
	// One that cannot be decoded has a name, too.
	_, clusters, err := o.List(ctx, f)
	if err != nil && len(clusters) == 0 {
		return nil, err
	}
	for _, tc := range clusters {
		all = append(all, cache.NewObjectName(tc.Namespace, tc.Name))
	}
	return all, nil
}
