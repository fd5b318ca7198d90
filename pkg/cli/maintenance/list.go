package maintenance

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/hosts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

func listCommand(f *factory.Factory) *cobra.Command {
	format := output.Objects{About: corev1.SchemeGroupVersion.WithKind("Node")}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the nodes under maintenance",
		Long: `List the nodes under maintenance: since when, by whom, and which clusters have members there.
Nodes that were deleted meanwhile are among them, until "maintenance stop" ends it for the clusters.`,
		Example: `  kubectl tidb maintenance list

  # The members on them
  kubectl tidb maintenance list -o json | jq -r '.items[].clusters[].members[]'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := format.Validate(); err != nil {
				return err
			}
			return list(cmd.Context(), f, &format)
		},
	}
	format.Bind(cmd)
	return cmd
}

func list(ctx context.Context, f *factory.Factory, format *output.Objects) error {
	kube, err := f.Kube()
	if err != nil {
		return err
	}
	nodes, err := kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	all := []view{}
	recorded := map[string]bool{}
	for i := range nodes.Items {
		h, err := hosts.Of(&nodes.Items[i])
		recorded[h.Name] = err != nil || h.Record != nil
		switch {
		case err != nil: // it hides no others
			all = append(all, view{Node: h.Name, Clusters: []hosts.Cluster{}, Unread: err.Error()})
			fmt.Fprintln(f.Streams.ErrOut, err)
		case h.Record != nil:
			all = append(all, viewOf(h))
		}
	}
	all = append(all, unrecorded(ctx, f, recorded)...)
	switch {
	case !format.Table():
		return write(f.Streams.Out, format, all)
	case len(all) == 0:
		fmt.Fprintln(f.Streams.ErrOut, "No node is under maintenance.")
		return nil
	}
	var rows [][]string
	for _, v := range all {
		rows = append(rows, v.row())
	}
	return report.Table(f.Streams.Out, []string{"node", "since", "by", "clusters"}, rows)
}

// unrecorded returns the nodes that clusters are marked with and that have no record. Such a Node was deleted, or
// made again. unrecorded says how their maintenance ends.
func unrecorded(ctx context.Context, f *factory.Factory, recorded map[string]bool) []view {
	_, clusters, err := listed(ctx, f)
	if err != nil {
		fmt.Fprintf(f.Streams.ErrOut, "warning: nodes under maintenance that do not exist any more are not shown: %v\n", err)
		return nil
	}
	var all []view
	for _, h := range hosts.Marked(clusters) {
		if recorded[h.Name] {
			continue
		}
		fmt.Fprintf(f.Streams.ErrOut, "node %s was deleted or made again during its maintenance; to end it: %s\n", h.Name, stopIt(h.Name).Line(f.Context()))
		all = append(all, viewOf(h))
	}
	return all
}

// view is the JSON form of one node.
type view struct {
	Node  string     `json:"node"`
	Since *time.Time `json:"since,omitempty"`
	By    string     `json:"by,omitempty"`
	// Cordoned: the node took no new pods before the maintenance, and takes none after it.
	Cordoned bool            `json:"cordonedBefore"`
	Clusters []hosts.Cluster `json:"clusters"`
	Unread   string          `json:"unread,omitempty"` // why the rest is not known
	// RecordLost: the Node was deleted, or made again, and which members were there is not known.
	RecordLost bool `json:"recordLost,omitempty"`
}

func viewOf(h hosts.Host) view {
	since := h.Record.Since.UTC()
	v := view{Node: h.Name, Since: &since, By: h.Record.By, Cordoned: h.Record.Cordoned, Clusters: []hosts.Cluster{}, RecordLost: h.Marked}
	for _, c := range h.Record.Clusters {
		if c.Members == nil {
			c.Members = []string{}
		}
		v.Clusters = append(v.Clusters, c)
	}
	return v
}

func (v view) row() []string {
	if v.Unread != "" {
		return []string{v.Node, "unknown", "unknown", "unknown"}
	}
	clusters := make([]string, len(v.Clusters))
	for i, c := range v.Clusters {
		clusters[i] = c.String()
	}
	return []string{v.Node, v.Since.Format(time.RFC3339), v.By, strings.Join(clusters, ",")}
}

func write(out io.Writer, format *output.Objects, all []view) error {
	items := []unstructured.Unstructured{}
	for _, v := range all {
		object, err := output.Object("NodeMaintenance", "", v.Node, v)
		if err != nil {
			return err
		}
		items = append(items, *object)
	}
	return format.Print(out, output.List("NodeMaintenance", items))
}
