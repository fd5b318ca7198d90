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

// Join connects the network of another node, so that pods of both reach each other. Addresses of Services stay apart.
func (n *Node) Join(ctx context.Context, folder string) error {
	other, err := n.other(folder)
	if err != nil {
		return err
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
	fmt.Fprintf(n.Progress, "pods of %s (%s) and of %s (%s) reach each other\n", n.Layout.Root, n.Layout.domain(), folder, other.domain())
	return nil
}

// Part takes the link to another node away, as an outage of the line between two places does. Join takes that back.
func (n *Node) Part(ctx context.Context, folder string) error {
	other, err := n.other(folder)
	if err != nil {
		return err
	}
	if !n.reaches(ctx, other) {
		fmt.Fprintln(n.Progress, "the nodes are not joined")
		return nil
	}
	return netns.Disconnect(netns.Port{Namespace: n.namespace, Bridge: bridge, Link: joint(other)})
}

// other finds the node in another state folder.
func (n *Node) other(folder string) (Layout, error) {
	other := Layout{Root: folder}
	state, err := other.LoadState()
	if err != nil {
		return Layout{}, err
	}
	other.Network = state.Network
	if !n.state.Ready || !state.Ready {
		return Layout{}, errors.New("both nodes have to be up: NODE_STATE=FOLDER NODE_NETWORK=1 go run . up")
	}
	if other.Network == n.Layout.Network {
		return Layout{}, fmt.Errorf("both nodes have the network %d, so that their addresses are the same; start one of them again: "+
			"NODE_STATE=FOLDER NODE_NETWORK=%d go run . up", other.Network, (other.Network+1)%MaxNetworks)
	}
	return other, nil
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
