package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/netns"
)

// Join connects the network of another node, so that pods of both reach each other. Names and Services stay apart.
func (n *Node) Join(ctx context.Context, folder string) error {
	other := Layout{Root: folder}
	state, err := other.LoadState()
	if err != nil {
		return err
	}
	other.Network = state.Network
	if !n.state.Ready || !state.Ready {
		return errors.New("both nodes have to be up: NODE_STATE=FOLDER NODE_NETWORK=1 go run . up")
	}
	if other.Network == n.Layout.Network {
		return fmt.Errorf("both nodes have the network %d, so that their addresses are the same; start one of them again: "+
			"NODE_STATE=FOLDER NODE_NETWORK=%d go run . up", other.Network, (other.Network+1)%MaxNetworks)
	}
	if n.reaches(ctx, other) {
		// A second link would be a circle, in which frames go round for ever.
		fmt.Fprintln(n.Progress, "the nodes are joined already")
		return nil
	}
	if err := netns.Connect(
		netns.Port{Namespace: n.namespace, Bridge: bridge, Link: joint(other)},
		netns.Port{Namespace: other.host(0).namespace(), Bridge: bridge, Link: joint(n.Layout)},
	); err != nil {
		return err
	}
	if err := n.await(ctx, "the other API server to be reached", func(ctx context.Context) error {
		if !n.reaches(ctx, other) {
			return errors.New("it does not answer")
		}
		return nil
	}); err != nil {
		return err
	}
	fmt.Fprintf(n.Progress, "pods of %s and of %s reach each other by their addresses\n", n.Layout.Root, folder)
	return nil
}

// joint names the port to another node.
func joint(other Layout) string { return "network" + strconv.Itoa(other.Network) }

func (n *Node) reaches(ctx context.Context, other Layout) bool {
	dialer, err := netns.NewDialer(n.namespace)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	return probe(ctx, dialer, net.JoinHostPort(other.apiIP(), apiPort)) == nil
}
