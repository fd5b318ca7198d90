// Package list is the verb that lists clusters.
package list

import (
	"cmp"
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

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/contexts"
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
	output   output.Objects
	watch    output.Watch
	contexts contexts.Flag
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error { return run(ctx, f, o) })
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
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
  kubectl tidb list -l env=prod

  # Those of several Kubernetes clusters
  kubectl tidb list -A --contexts 'prod-*'`,
		SuggestFor: []string{"get", "ls"},
		Args:       cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(o.Validate(), o.output.Validate(), o.contexts.Validate(cmd.Flags())); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.Bind(cmd, "List")
	o.output.Bind(cmd)
	o.watch.Bind(cmd)
	o.contexts.Bind(cmd, f, "List the clusters", "watch")
	return cmd
}

func run(ctx context.Context, f *factory.Factory, o options) error {
	return o.watch.Show(ctx, f.Streams.Out, func(ctx context.Context) (<-chan struct{}, error) { return o.Watch(ctx, f) },
		func(out io.Writer) error { return o.once(ctx, f, out) })
}

// once reads the clusters and shows them. A cluster, or a context, that cannot be read must not hide the others.
func (o options) once(ctx context.Context, f *factory.Factory, out io.Writer) error {
	found, err := contexts.Each(ctx, f, &o.contexts, o.read)
	if err != nil {
		return err
	}
	contexts.Notes(f.Streams.ErrOut, found)
	var all []view
	for i := range found {
		all = append(all, o.rows(&found[i])...)
	}
	failed := contexts.Ended(found)
	if failed != nil && len(all) == 0 {
		return failed
	}
	if err := o.show(out, all); err != nil {
		return err
	}
	return failed
}

// read returns the clusters of one context.
func (o options) read(ctx context.Context, f *factory.Factory) ([]view, error) {
	namespace, clusters, err := o.List(ctx, f)
	if err == nil && len(clusters) == 0 {
		o.none(f.Streams.ErrOut, namespace)
	}
	return views(clusters), err
}

// none tells people that there are no clusters.
func (o options) none(out io.Writer, namespace string) {
	switch {
	case !o.output.Table():
	case o.AllNamespaces:
		fmt.Fprintln(out, "No TidbClusters found.")
	default:
		fmt.Fprintf(out, "No TidbClusters found in namespace %s.\n", namespace)
	}
}

// rows returns the clusters of one context with its name. For a context in which none could be read, rows returns a row
// that says so.
func (o options) rows(r *contexts.Result[[]view]) []view {
	if len(r.Value) == 0 && r.Err != nil && r.Context != "" {
		r.Shown = o.output.Table()
		v := view{Lack: r.Lack(), Replicas: map[string]int{}}
		if r.Unknown() {
			v.Ready = "Unknown"
		}
		return []view{v}
	}
	for i := range r.Value {
		r.Value[i].Context = r.Context
	}
	return r.Value
}

func (o options) show(out io.Writer, all []view) error {
	switch {
	case !o.output.Table():
		return o.print(out, all)
	case len(all) > 0:
		return o.table(out, all, time.Now())
	}
	return nil
}

// print writes the clusters in the format of -o.
func (o options) print(out io.Writer, all []view) error {
	items := []unstructured.Unstructured{}
	for _, v := range all {
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
	contexts.Lack
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

func (o options) table(out io.Writer, all []view, now time.Time) error {
	kinds := columns(all)
	headers, _ := o.place(view{})
	headers = append(headers, "name", "ready", "version")
	for _, k := range kinds {
		headers = append(headers, string(k))
	}
	headers = append(headers, "age")
	messages := o.output.Wide() || slices.ContainsFunc(all, view.lacking)
	if messages {
		headers = append(headers, "message")
	}
	var rows [][]string
	for _, v := range all {
		_, row := o.place(v)
		row = append(row, v.Cluster, v.word(), v.Version)
		for _, k := range kinds {
			row = append(row, size(v, k))
		}
		age := "-"
		if !v.Created.IsZero() {
			age = state.Age(now.Sub(v.Created.Time))
		}
		row = append(row, age)
		if messages {
			row = append(row, cmp.Or(v.Unknown, v.Error, v.Message))
		}
		rows = append(rows, row)
	}
	return report.Table(out, headers, rows)
}

// place returns where a cluster is, with the names of the columns. They are there only where clusters can be in several
// places, as kubectl does it.
func (o options) place(v view) (headers, row []string) {
	if o.contexts.Given() {
		headers, row = append(headers, "context"), append(row, v.Context)
	}
	if o.AllNamespaces || o.contexts.Given() {
		headers, row = append(headers, "namespace"), append(row, v.Namespace)
	}
	return headers, row
}

// lacking reports whether the row is about a context without clusters that could be read.
func (v view) lacking() bool { return v.Unknown != "" || v.Error != "" }

// word says in few words how the cluster is.
func (v view) word() string {
	switch {
	case v.Paused:
		return "Paused"
	case v.Reason != "":
		return v.Ready + " (" + v.Reason + ")"
	}
	return v.Ready
}

// columns returns the components that have a column: components that each cluster needs, and others that a
// cluster has.
func columns(all []view) []topology.Kind {
	return slices.DeleteFunc(topology.Kinds(), func(k topology.Kind) bool {
		_, service := k.Serves()
		return (k.Optional() || service) && !slices.ContainsFunc(all, func(v view) bool { return size(v, k) != "-" })
	})
}

func size(v view, k topology.Kind) string {
	if n, ok := v.Replicas[string(k)]; ok {
		return strconv.Itoa(n)
	}
	return "-"
}
