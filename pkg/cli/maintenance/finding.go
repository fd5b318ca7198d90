package maintenance

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/hosts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Findings returns the maintenances of nodes with members of a cluster, as far as nodes may be read.
func Findings(ctx context.Context, kube kubernetes.Interface, s hosts.Sight) []desired.Finding {
	var all []desired.Finding
	seen := map[string]bool{"": true}
	for _, k := range topology.Kinds() {
		for _, m := range s.Snapshot.Groups[k].Members {
			if m.Pod == nil || seen[m.Pod.Node] {
				continue
			}
			seen[m.Pod.Node] = true
			node, err := kube.CoreV1().Nodes().Get(ctx, m.Pod.Node, metav1.GetOptions{})
			if err != nil {
				return all // mostly the right to read nodes is missing
			}
			h, err := hosts.Of(node)
			if err != nil || h.Record == nil || !h.Record.Names(s.Cluster) {
				continue
			}
			var names []string
			for _, m := range h.Members(s) {
				names = append(names, m.Name)
			}
			all = append(all, desired.Finding{
				Reason: event.NodeMaintained, Component: k, Member: m.Name,
				Text: fmt.Sprintf("node %s, with %s, is under maintenance since %s, begun by %s",
					h.Name, strings.Join(names, ", "), h.Record.Since.UTC().Format(time.RFC3339), h.Record.By),
				Remedy: remedy.Remedy{remedy.Run("end it when the node is back", stopIt(h.Name))},
			})
		}
	}
	return all
}
