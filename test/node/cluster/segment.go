package cluster

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/netns"
)

// segment is the bridge that connects hosts. It is in a namespace of its own, where it can drop frames between any two.
const segment = "segment"

func (l Layout) switchNamespace() netns.Namespace {
	return netns.Namespace{Name: l.Name() + "-switch"}
}

// connect gives a host a port of the switch, which is made if it is not there.
func (n *Node) connect(h Host) error {
	between := n.Layout.switchNamespace()
	if !between.Exists() {
		if err := between.CreateSwitch(segment); err != nil {
			return err
		}
	}
	return netns.Connect(n.port(h), netns.Port{Namespace: h.namespace(), Bridge: bridge, Link: "uplink"})
}

// port is that of a host at the switch.
func (n *Node) port(h Host) netns.Port {
	return netns.Port{Namespace: n.Layout.switchNamespace(), Bridge: segment, Link: h.Name()}
}

// unplug ends all that a host sends and receives. The network of the first host is also that of the API server, so only
// its pods are cut off.
func (n *Node) unplug(h Host) error {
	if h.first() {
		return n.applyCuts()
	}
	return netns.Disconnect(n.port(h))
}

// applyCuts makes the switch drop what the state says.
func (n *Node) applyCuts() error {
	hosts := n.hosts()
	if len(hosts) == 1 {
		return nil
	}
	cuts := slices.Clone(n.state.Cuts)
	if first := hosts[0]; n.crashed(first) {
		cuts = append(cuts, Cut{first.Name(), fromOthers})
	}
	return n.Layout.switchNamespace().Filter(rules(hosts, cuts))
}
