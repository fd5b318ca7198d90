package target

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/util/completion"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// completionTimeout bounds a completion: a shell that hangs at Tab is worse than one that completes
// nothing.
const completionTimeout = time.Second

const (
	resource = "tidbclusters.pingcap.com"
	versions = "{{range .items}}{{if .spec.version}}{{.spec.version}} {{end}}{{end}}"
)

// Complete completes the name of a cluster as the first argument.
func Complete(f *factory.Factory) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return CompleteAll(f)(cmd, args, begin)
	}
}

// CompleteAll completes the name of a cluster as any argument, each once.
func CompleteAll(f *factory.Factory) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		found := Within(cmd.Context(), func() []string { return completion.CompGetResource(f.Kubectl(), resource, begin) })
		return slices.DeleteFunc(found, func(name string) bool { return slices.Contains(args, name) }), cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteVersion completes a version with the versions in the specs of the namespace's clusters. A new cluster, or
// the next cluster to upgrade, mostly gets the version of another cluster.
func CompleteVersion(f *factory.Factory) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
		found := Within(cmd.Context(), func() []string {
			template := versions
			return completion.CompGetFromTemplate(&template, f.Kubectl(), "", []string{resource}, begin)
		})
		slices.Sort(found)
		return slices.Compact(found), cobra.ShellCompDirectiveNoFileComp
	}
}

// ofComponent prints the names of the pods of a cluster's component.
const ofComponent = `{{range .items}}{{if and (exists . "metadata" "labels" "` + topology.LabelInstance + `") (exists . "metadata" "labels" "` + topology.LabelComponent + `")}}` +
	`{{if and (eq (index .metadata.labels "` + topology.LabelInstance + `") %q) (eq (index .metadata.labels "` + topology.LabelComponent + `") %q)}}{{.metadata.name}} {{end}}{{end}}{{end}}`

// CompletePods completes the names of the pods of components. The first argument is the cluster.
func CompletePods(f *factory.Factory, of ...topology.Kind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return Within(cmd.Context(), func() []string {
			var names []string
			for _, k := range of {
				template := fmt.Sprintf(ofComponent, args[0], k)
				names = append(names, completion.CompGetFromTemplate(&template, f.Kubectl(), "", []string{"pods"}, begin)...)
			}
			return names
		}), cobra.ShellCompDirectiveNoFileComp
	}
}

// ofCluster prints something of each object of a cluster.
const ofCluster = `{{range .items}}{{if exists . "metadata" "labels" "` + topology.LabelInstance + `"}}` +
	`{{if eq (index .metadata.labels "` + topology.LabelInstance + `") %q}}%s{{end}}{{end}}{{end}}`

// CompleteMembers completes names of members, and of components, each once. The first argument is
// the cluster.
func CompleteMembers(f *factory.Factory) cobra.CompletionFunc {
	clusters := Complete(f)
	return func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return clusters(cmd, args, begin)
		}
		all := membersOf(cmd, f, args, begin)
		return slices.DeleteFunc(all, func(name string) bool { return slices.Contains(args[1:], name) }), cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteMember completes the name of one member, or of one component. The first argument is the
// cluster.
func CompleteMember(f *factory.Factory) cobra.CompletionFunc {
	members := CompleteMembers(f)
	return func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return members(cmd, args, begin)
	}
}

// CompletePod completes the name of one member. The first argument is the cluster.
func CompletePod(f *factory.Factory) cobra.CompletionFunc {
	members := CompleteMember(f)
	return func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		all, directive := members(cmd, args, begin)
		if len(args) == 0 {
			return all, directive
		}
		return slices.DeleteFunc(all, func(name string) bool { _, known := topology.ParseKind(name); return known }), directive
	}
}

// CompleteResource returns a function that completes a flag with the names of resources in the namespace, as kubectl does.
func CompleteResource(f *factory.Factory, plural string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
		find := func() []string { return completion.CompGetResource(f.Kubectl(), plural, begin) }
		return Within(cmd.Context(), find), cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteMemberFlag completes the value of a flag with names of components, and of members where the
// cluster is given already.
func CompleteMemberFlag(f *factory.Factory) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		return membersOf(cmd, f, args, begin), cobra.ShellCompDirectiveNoFileComp
	}
}

// membersOf returns the names of components, and of members of the cluster that is the first argument. Names are
// without the cluster's name, unless what was typed begins with it.
func membersOf(cmd *cobra.Command, f *factory.Factory, args []string, begin string) []string {
	var all []string
	for _, k := range topology.Kinds() {
		if strings.HasPrefix(string(k), begin) {
			all = append(all, string(k))
		}
	}
	if len(args) == 0 {
		return all
	}
	for _, pod := range listNames(cmd, f, "pods", args[0], "{{.metadata.name}} ", "") {
		short := strings.TrimPrefix(pod, args[0]+"-")
		switch {
		case strings.HasPrefix(short, begin):
			all = append(all, short)
		case strings.HasPrefix(pod, begin):
			all = append(all, pod)
		}
	}
	return all
}

// CompleteNode completes the name of a node.
func CompleteNode(f *factory.Factory) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
		return Within(cmd.Context(), func() []string { return completion.CompGetResource(f.Kubectl(), "nodes", begin) }),
			cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteClaims completes names of claims, each once. The first argument is the cluster. A claim that
// nothing keeps has no pod, by which its member could be completed.
func CompleteClaims(f *factory.Factory) cobra.CompletionFunc {
	clusters := Complete(f)
	return func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return clusters(cmd, args, begin)
		}
		all := listNames(cmd, f, "persistentvolumeclaims", args[0], "{{.metadata.name}} ", begin)
		return slices.DeleteFunc(all, func(name string) bool { return slices.Contains(args[1:], name) }), cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteContainers completes names of containers. The first argument is the cluster.
func CompleteContainers(f *factory.Factory) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all := listNames(cmd, f, "pods", args[0], "{{range .spec.containers}}{{.name}} {{end}}", begin)
		slices.Sort(all)
		return slices.Compact(all), cobra.ShellCompDirectiveNoFileComp
	}
}

// listNames returns something of each object of a resource that belongs to a cluster.
func listNames(cmd *cobra.Command, f *factory.Factory, resource, cluster, what, begin string) []string {
	return Within(cmd.Context(), func() []string {
		template := fmt.Sprintf(ofCluster, cluster, what)
		return completion.CompGetFromTemplate(&template, f.Kubectl(), "", []string{resource}, begin)
	})
}

// Within returns what a completion finds, and nothing if that takes too long. Neither kubectl's
// completions nor a program that the kubeconfig names for credentials end with a context.
func Within(ctx context.Context, find func() []string) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	found := make(chan []string, 1)
	go func() { found <- find() }()
	select {
	case names := <-found:
		return names
	case <-ctx.Done():
		return nil
	}
}
