package maintenance

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/hosts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

func listCommand(f *factory.Factory) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the nodes under maintenance",
		Long:    `List the nodes under maintenance: since when, by whom, and which clusters have members there.`,
		Example: `  kubectl tidb maintenance list`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return list(cmd.Context(), f) },
	}
}

func list(ctx context.Context, f *factory.Factory) error {
	kube, err := f.Kube()
	if err != nil {
		return err
	}
	nodes, err := kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	var rows [][]string
	for i := range nodes.Items {
		h, err := hosts.Of(&nodes.Items[i])
		switch {
		case err != nil: // it hides no others
			rows = append(rows, []string{h.Name, "unknown", "unknown", "unknown"})
			fmt.Fprintln(f.Streams.ErrOut, err)
		case h.Record != nil:
			var clusters []string
			for _, c := range h.Record.Clusters {
				clusters = append(clusters, c.String())
			}
			rows = append(rows, []string{h.Name, h.Record.Since.UTC().Format(time.RFC3339), h.Record.By, strings.Join(clusters, ",")})
		}
	}
	if len(rows) == 0 {
		fmt.Fprintln(f.Streams.ErrOut, "No node is under maintenance.")
		return nil
	}
	return report.Table(f.Streams.Out, []string{"node", "since", "by", "clusters"}, rows)
}
