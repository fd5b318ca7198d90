package cluster

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/process"
)

func TestRangesOfPodsDoNotOverlap(t *testing.T) {
	subnet := netip.MustParsePrefix(podSubnet)
	var last netip.Addr
	for network := range MaxNetworks {
		for number := range MaxHosts {
			h := Layout{Root: "/state/node", Network: network}.host(number)
			from, to := h.podRange()
			own, first, end := netip.MustParseAddr(h.address()), netip.MustParseAddr(from), netip.MustParseAddr(to)
			if last.IsValid() && !last.Less(own) || !own.Less(first) || !first.Less(end) {
				t.Errorf("%s of network %d: %s, %s to %s, after %s", h.Name(), network, own, first, end, last)
			}
			if !subnet.Contains(own) || !subnet.Contains(end) || netip.MustParsePrefix(serviceCIDR).Contains(end) {
				t.Errorf("%s of network %d leaves %s: %s to %s", h.Name(), network, subnet, own, end)
			}
			last = end
		}
	}
}

func TestFilesOfHostsDiffer(t *testing.T) {
	layout := Layout{Root: "/state/node"}
	first, second := layout.host(0), layout.host(1)
	for _, test := range []struct{ got, want string }{
		{first.path("kubelet"), "/state/node/kubelet"}, {second.path("kubelet"), "/state/node/hosts/node1/kubelet"},
		{first.log(kubelet), "/state/node/logs/kubelet.log"}, {second.log(kubelet), "/state/node/logs/node1/kubelet.log"},
		{first.namespace().Name, "node"}, {second.namespace().Name, "node-node1"},
		{first.kubeletUser(), "kubelet"}, {second.kubeletUser(), "kubelet-node1"},
		{first.Zone(), "zone-a"}, {layout.host(5).Zone(), "zone-c"},
	} {
		if test.got != test.want {
			t.Errorf("got %s, want %s", test.got, test.want)
		}
	}
}

func TestAHostOwnsItsProgramsOnly(t *testing.T) {
	first, second := Layout{}.host(0), Layout{}.host(1)
	for name, owner := range map[string]string{
		kubelet: "node0", containerd: "node0", "node1/kubelet": "node1", "node1/kube-proxy": "node1",
		"node11/kubelet": "", apiServer: "", etcd: "", attendant: "", coredns: "",
	} {
		for _, h := range []Host{first, second} {
			if got := h.owns(process.Record{Name: name}); got != (owner == h.Name()) {
				t.Errorf("%s owns %s: %t", h.Name(), name, got)
			}
		}
	}
}

func TestHostsAreFoundByName(t *testing.T) {
	n := &Node{state: State{Ready: true, Hosts: 2}}
	if h, err := n.find("node1"); err != nil || h.Name() != "node1" {
		t.Errorf("found %v, %v", h, err)
	}
	for _, test := range []struct {
		state State
		name  string
		says  string
	}{
		{State{Ready: true, Hosts: 2}, "node2", "there is node0, node1"},
		{State{Ready: true, Hosts: 2}, "", `no host "",`},
		{State{}, "node0", "make node-up HOSTS=3"},
		{State{Ready: true, Hosts: 1, Alone: true}, "node0", "make node-up HOSTS=3"},
		{State{Ready: true}, "node0", "make node-down"},
	} {
		if _, err := (&Node{state: test.state}).find(test.name); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q in %+v: %v", test.name, test.state, err)
		}
	}
}

func TestHostsCannotBecomeFewer(t *testing.T) {
	for _, test := range []struct {
		have, want int
		says       string
	}{{3, 2, "HOSTS=2"}, {0, 3, "older version"}, {3, 3, ""}, {3, 0, ""}, {0, 0, ""}, {0, 1, ""}} {
		n := &Node{Hosts: test.want, state: State{Hosts: test.have}}
		err := n.grow(t.Context())
		if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("from %d to %d: %v", test.have, test.want, err)
		}
	}
}

func TestListing(t *testing.T) {
	n := &Node{state: State{
		Ready: true, Hosts: 3, Crashed: []string{"node2"}, Cuts: []Cut{{"node1", "node0"}, {"node1", fromOperator}},
	}}
	var out strings.Builder
	if err := n.List(&out); err != nil {
		t.Fatal(err)
	}
	var states []string
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n")[1:] {
		fields := strings.Fields(line)
		states = append(states, fields[0]+": "+strings.Join(fields[4:], " "))
	}
	want := []string{"node0: cut from node1", "node1: cut from node0, cut from the operator", "node2: crashed"}
	if !reflect.DeepEqual(states, want) {
		t.Errorf("states are %q", states)
	}
}

func TestNetworkFromTheEnvironment(t *testing.T) {
	for value, want := range map[string]int{"": 0, "0": 0, "3": 3} {
		if got, err := parseNetwork(value); err != nil || got != want {
			t.Errorf("%q: %d, %v", value, got, err)
		}
	}
	for _, value := range []string{"-1", "4", "one"} {
		if _, err := parseNetwork(value); err == nil {
			t.Errorf("%q was accepted", value)
		}
	}
}

func TestAnotherNetworkIsStartedAfresh(t *testing.T) {
	var said strings.Builder
	n := &Node{Progress: &said, wanted: 1, state: State{Ready: true, Processes: []process.Record{{Name: etcd}}}}
	if n.healthy(t.Context()) || !strings.Contains(said.String(), "network 0") {
		t.Errorf("said %q", said.String())
	}
}
