package netns

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
)

// CreateSwitch makes the namespace with nothing but a bridge, whose ports are other namespaces.
func (n Namespace) CreateSwitch(bridge string) error {
	if err := n.add(); err != nil {
		return fmt.Errorf("create network namespace %s: %w", n.Name, err)
	}
	if err := n.configure([][]string{
		{"link", "add", bridge, "type", "bridge"},
		{"link", "set", bridge, "up"},
	}); err != nil {
		return err
	}
	// It passes on whole frames, and does not look at the connections in them.
	return n.set(map[string]string{"net/bridge/bridge-nf-call-iptables": "0"})
}

// Port is a port of a bridge in a namespace.
type Port struct {
	Namespace
	Bridge string
	// Link is the name of the port.
	Link string
}

// Connect makes a link between two bridges.
func Connect(a, b Port) error {
	if err := ip("link", "add", a.Link, "netns", a.Name, "type", "veth", "peer", "name", b.Link, "netns", b.Name); err != nil {
		return fmt.Errorf("connect network namespaces %s and %s: %w", a.Name, b.Name, err)
	}
	for _, port := range []Port{a, b} {
		if err := port.configure([][]string{
			{"link", "set", port.Link, "master", port.Bridge},
			{"link", "set", port.Link, "up"},
		}); err != nil {
			return err
		}
	}
	return nil
}

// Disconnect removes a link. The kernel removes the links of a deleted namespace as well, but some time later.
func Disconnect(port Port) error {
	return port.configure([][]string{{"link", "delete", port.Link}})
}

// Filter gives the namespace a set of rules for nft.
func (n Namespace) Filter(rules string) error {
	return n.Do(func() error {
		command := exec.Command("nft", "--file", "-")
		var output bytes.Buffer
		command.Stdin, command.Stdout, command.Stderr = strings.NewReader(rules), &output, &output
		if err := command.Run(); err != nil {
			return fmt.Errorf("filter in network namespace %s: %w: %s", n.Name, err, strings.TrimSpace(output.String()))
		}
		return nil
	})
}
