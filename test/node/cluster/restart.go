package cluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/process"
)

// RestartAPIServer kills the API server and starts it again. Nobody else of the
// node is touched: what lives through the outage is what a test wants to see.
func (n *Node) RestartAPIServer(ctx context.Context) error {
	i := slices.IndexFunc(n.state.Processes, func(r process.Record) bool { return r.Name == apiServer })
	if i < 0 {
		return fmt.Errorf("the node is not up: it has no %s", apiServer)
	}
	if err := n.state.Processes[i].End(0); err != nil {
		return err
	}
	n.state.Processes = slices.Delete(n.state.Processes, i, i+1)
	if err := n.launch(apiServer); err != nil {
		return err
	}
	client, err := n.client()
	if err != nil {
		return err
	}
	return n.await(ctx, "the API server to be ready", func(ctx context.Context) error {
		return client.Call(ctx, "GET", "/readyz", nil, nil)
	})
}
