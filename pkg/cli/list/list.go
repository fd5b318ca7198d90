// Package list is the verb that lists clusters.
package list

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// options are the verb's flags.
type options struct {
	target.Found
	output output.Objects
	watch  output.Watch
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(func(ctx context.Context, o options) error { return run(ctx, f, o) })
}

func command(run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List clusters",
		Long: `List clusters, with what is wanted of them and whether the last driver found them so;
Unknown if it has not looked since they were changed. "kubectl tidb status" asks a
cluster itself.`,
		Example: `  kubectl tidb list

  # Those of all namespaces
  kubectl tidb list -A

  # Those with a label
  kubectl tidb list -l env=prod`,
		SuggestFor: []string{"get", "ls"},
		Args:       cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(o.Validate(), o.output.Validate()); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.Bind(cmd, "List")
	o.output.Bind(cmd)
	o.watch.Bind(cmd)
	return cmd
}

func run(ctx context.Context, f *factory.Factory, o options) error {
	return o.watch.Show(ctx, f.Streams.Out, func(ctx context.Context) (<-chan struct{}, error) { return o.Watch(ctx, f) },
		func(out io.Writer) error { return o.once(ctx, f, out) })
}

func (o options) once(ctx context.Context, f *factory.Factory, out io.Writer) error {
	// A cluster that cannot be read must not hide the others.
	namespace, clusters, failed := o.List(ctx, f)
	if failed != nil && len(clusters) == 0 {
		return failed
	}
	if err := o.show(f, out, namespace, clusters); err != nil {
		return err
	}
	return failed
}

func (o options) show(f *factory.Factory, out io.Writer, namespace string, clusters []v1alpha1.TidbCluster) error {
	switch {
	case !o.output.Table():
		return o.print(out, clusters)
	case len(clusters) > 0:
		return o.table(out, clusters, time.Now())
	case o.AllNamespaces:
		fmt.Fprintln(f.Streams.ErrOut, "No TidbClusters found.")
	default:
		fmt.Fprintf(f.Streams.ErrOut, "No TidbClusters found in namespace %s.\n", namespace)
	}
	return nil
}

// print writes the clusters in the format of -o.
func (o options) print(out io.Writer, clusters []v1alpha1.TidbCluster) error {
	items := []unstructured.Unstructured{}
	for _, v := range views(clusters) {
		object, err := output.Object("ClusterSummary", v.Namespace, v.Cluster, v)
		if err != nil {
			return err
		}
		items = append(items, *object)
	}
	return o.output.Print(out, output.List("ClusterSummary", items))
}

// view is the JSON form of one cluster.
type view struct {
	Namespace string         `json:"namespace"`
	Cluster   string         `json:"cluster"`
	Version   string         `json:"version"`
	Ready     string         `json:"ready"`
	Reason    string         `json:"reason,omitempty"`
	Message   string         `json:"message,omitempty"`
	Paused    bool           `json:"paused,omitempty"`
	Replicas  map[string]int `json:"replicas"`
	Created   metav1.Time    `json:"created"`
}

func views(clusters []v1alpha1.TidbCluster) []view {
	out := []view{}
	for i := range clusters {
		c := topology.New(&clusters[i])
		v := view{
			Namespace: c.Namespace, Cluster: c.Name, Version: c.Source.Spec.Version, Paused: c.Paused,
			Replicas: map[string]int{}, Created: c.Source.CreationTimestamp,
		}
		v.Ready, v.Reason, v.Message = readyCondition(c)
		for _, g := range c.Groups {
			v.Replicas[string(g.Kind)] = g.Replicas
		}
		out = append(out, v)
	}
	return out
}

// readyCondition returns the condition Ready that the last driver wrote.
func readyCondition(c topology.Cluster) (status, reason, message string) {
	for _, cond := range c.Source.Status.Conditions {
		if cond.Type == v1alpha1.TidbClusterReady {
			if cond.Reason == string(cond.Type) {
				cond.Reason = ""
			}
			return string(cond.Status), cond.Reason, cond.Message
		}
	}
	return "Unknown", "", ""
}

// table names the namespace only where there can be several, as kubectl does.
func (o options) table(out io.Writer, clusters []v1alpha1.TidbCluster, now time.Time) error {
	all := views(clusters)
	kinds := columns(all)
	headers := []string{"name", "ready", "version"}
	for _, k := range kinds {
		headers = append(headers, string(k))
	}
	headers = append(headers, "age")
	if o.AllNamespaces {
		headers = append([]string{"namespace"}, headers...)
	}
	if o.output.Wide() {
		headers = append(headers, "message")
	}
	var rows [][]string
	for _, v := range all {
		word := v.Ready
		switch {
		case v.Paused:
			word = "Paused"
		case v.Reason != "":
			word += " (" + v.Reason + ")"
		}
		row := []string{v.Cluster, word, v.Version}
		if o.AllNamespaces {
			row = append([]string{v.Namespace}, row...)
		}
		for _, k := range kinds {
			row = append(row, size(v, k))
		}
		row = append(row, state.Age(now.Sub(v.Created.Time)))
		if o.output.Wide() {
			row = append(row, v.Message)
		}
		rows = append(rows, row)
	}
	return report.Table(out, headers, rows)
}

// columns returns the components that have a column: components that each cluster needs, and others that a
// cluster has.
func columns(all []view) []topology.Kind {
	return slices.DeleteFunc(topology.Kinds(), func(k topology.Kind) bool {
		return k.Optional() && !slices.ContainsFunc(all, func(v view) bool { return size(v, k) != "-" })
	})
}

func size(v view, k topology.Kind) string {
	if n, ok := v.Replicas[string(k)]; ok {
		return strconv.Itoa(n)
	}
	return "-"
}
