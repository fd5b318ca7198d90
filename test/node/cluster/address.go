package cluster

import "fmt"

// All addresses are in one subnet, so that hosts and pods reach each other without routes. Its second number tells
// clusters apart, its third number hosts.
const (
	podSubnet    = "10.88.0.0/14"
	prefixLength = 14
	// MaxNetworks is how many clusters can be joined, MaxHosts how many hosts each can have.
	MaxNetworks = 4
	MaxHosts    = 16

	serviceCIDR  = "10.96.0.0/16"
	apiServiceIP = "10.96.0.1"
	apiPort      = "6443"
	// apiAddress is how programs of the first host reach the API server.
	apiAddress = "127.0.0.1:" + apiPort
)

// block is how many values of the third number belong to one host.
const block = 256 / MaxHosts

// address is that of a host's bridge, by which its pods and the other hosts reach it.
func (h Host) address() string { return h.inBlock(0, 1) }

// bridgePrefix is the address with the length of the subnet.
func (h Host) bridgePrefix() string { return fmt.Sprintf("%s/%d", h.address(), prefixLength) }

// podRange returns the first and the last address of a host's pods. Ranges of hosts do not overlap.
func (h Host) podRange() (first, last string) { return h.inBlock(0, 2), h.inBlock(block-1, 254) }

func (h Host) inBlock(third, fourth int) string {
	return fmt.Sprintf("10.%d.%d.%d", 88+h.layout.Network, block*h.number+third, fourth)
}

// apiIP is where hosts and pods find the API server and the DNS server.
func (l Layout) apiIP() string { return l.host(0).address() }

// domain is the domain of Services by which pods of joined clusters know each other, beside the cluster.local of each.
func (l Layout) domain() string { return fmt.Sprintf("network%d.example", l.Network) }
