package maintenance

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/hosts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
)

// Notices returns the maintenances of nodes with members of a cluster, as far as nodes may be read.
func Notices(ctx context.Context, kube kubernetes.Interface, s hosts.Sight) []desired.Notice {
	type place struct {
		kind         topology.Kind
		member, node string
	}
	var places []place
	var names []string
	seen := map[string]bool{"": true}
	for _, k := range topology.Kinds() {
		for _, m := range s.Snapshot.Groups[k].Members {
			if m.Pod != nil && !seen[m.Pod.Node] {
				seen[m.Pod.Node] = true
				places, names = append(places, place{k, m.Name, m.Pod.Node}), append(names, m.Pod.Node)
			}
		}
	}
	nodes := readNodes(ctx, kube, names)
	var all []desired.Notice
	for _, p := range places {
		node, ok := nodes[p.node]
		if !ok {
			continue
		}
		h, err := hosts.Of(node)
		if err != nil || h.Record == nil || !h.Record.Names(s.Cluster) {
			continue
		}
		var members []string
		for _, m := range h.Members(s) {
			members = append(members, m.Name)
		}
		all = append(all, desired.Notice{
			Reason: event.NodeMaintained, Component: p.kind, Member: p.member,
			Text: fmt.Sprintf("node %s, with %s, is under maintenance since %s, begun by %s",
				h.Name, strings.Join(members, ", "), h.Record.Since.UTC().Format(time.RFC3339), h.Record.By),
			Remedy: remedy.Remedy{remedy.Run("end it when the node is back", stopIt(h.Name))},
		})
	}
	return all
}

const (
	// oneByOne is up to how many nodes are read by their names. The client holds back more requests, and
	// all nodes of Kubernetes come in one; but that may be many more than the nodes with members.
	oneByOne = 100
	// nodesAtOnce is how many requests for nodes are under way at the same time.
	nodesAtOnce = 8
)

// readNodes returns the nodes that exist and may be read. A node that is gone, as the node of a lost
// host, hides no others.
func readNodes(ctx context.Context, kube kubernetes.Interface, names []string) map[string]*corev1.Node {
	found := map[string]*corev1.Node{}
	if len(names) > oneByOne {
		// The version 0 has the API server answer from its cache.
		if list, err := kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"}); err == nil {
			for i := range list.Items {
				found[list.Items[i].Name] = &list.Items[i]
			}
			return found
		} // the right to list nodes is seldom given
	}
	var mu sync.Mutex
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(nodesAtOnce)
	for _, name := range names {
		reads.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			node, err := kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			switch {
			case denial.Missing(err):
				return err // for one as for all
			case err == nil:
				mu.Lock()
				defer mu.Unlock()
				found[name] = node
			}
			return nil
		})
	}
	_ = reads.Wait() // what is missing is not shown
	return found
}
