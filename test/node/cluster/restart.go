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

// elected is how long the leases of Kubernetes' own controllers last.
const elected = 15 * time.Second

// RestartAPIServer kills the API server and starts it again, after a while. What
// lives through that is what a test wants to see, so nobody else of the node is
// touched, but for the controllers where it lasts for long. Who waits for it no
// longer gets it back at once.
//
// A controller that cannot renew its lease ends, and the kubelet starts it again. The
// leases are not taken here, and these are no pods. A scheduler that goes on with what
// it knew may also end by itself, when pods were recreated meanwhile.
func (n *Node) RestartAPIServer(ctx context.Context, lasts time.Duration) error {
	down := []string{apiServer}
	if lasts > elected {
		down = append(down, controllerManager, scheduler)
	}
	for _, name := range down {
		if err := n.end(name); err != nil {
			return err
		}
	}
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
	if err := n.await(ctx, "the API server to be ready", func(ctx context.Context) error {
		return client.Call(ctx, "GET", "/readyz", nil, nil)
	}); err != nil {
		return err
	}
	return n.launch(down[1:]...)
}

// end kills a program of the node.
func (n *Node) end(name string) error {
	i := slices.IndexFunc(n.state.Processes, func(r process.Record) bool { return r.Name == name })
	if i < 0 {
		return fmt.Errorf("the node is not up: it has no %s", name)
	}
	if err := n.state.Processes[i].End(0); err != nil {
		return err
	}
	n.state.Processes = slices.Delete(n.state.Processes, i, i+1)
	return nil
}
