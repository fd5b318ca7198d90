package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/netns"
	"github.com/kubectl-tidb/kubectl-tidb/test/node/process"
)

// RestartAPIServer kills the API server and starts it again, after a while. Nobody
// else of the node is touched: what lives through the outage is what a test wants
// to see. Who waits for it no longer gets it back at once.
func (n *Node) RestartAPIServer(ctx context.Context, lasts time.Duration) error {
	i := slices.IndexFunc(n.state.Processes, func(r process.Record) bool { return r.Name == apiServer })
	if i < 0 {
		return fmt.Errorf("the node is not up: it has no %s", apiServer)
	}
	if err := n.state.Processes[i].End(0); err != nil {
		return err
	}
	n.state.Processes = slices.Delete(n.state.Processes, i, i+1)
	select {
	case <-time.After(lasts):
	case <-ctx.Done():
		ctx = context.WithoutCancel(ctx)
	}
	dialer, err := netns.NewDialer(n.namespace)
	if err != nil {
		return err
	}
	// The last of its threads may outlive the process by a moment, and with it the port.
	if err := n.await(ctx, "the API server's port to be free", func(ctx context.Context) error {
		if probe(ctx, dialer, apiAddress) == nil {
			return errors.New("it still listens")
		}
		return nil
	}); err != nil {
		return err
	}
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
