package cluster

import (
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
	return netns.Connect(
		netns.Port{Namespace: between, Bridge: segment, Link: h.Name()},
		netns.Port{Namespace: h.namespace(), Bridge: bridge, Link: "uplink"},
	)
}

// applyCuts makes the switch drop what the state says.
func (n *Node) applyCuts() error {
	hosts := n.hosts()
	if len(hosts) == 1 {
		return nil
	}
	return n.Layout.switchNamespace().Filter(rules(hosts, withCrashes(n.state.Cuts, hosts, n.crashed)))
}
