package cluster

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/netns"
	"github.com/kubectl-tidb/kubectl-tidb/test/node/process"
)

const (
	// bridge is the name of the bridge of a host's pods.
	bridge = "cni0"
	// zoneLabel is where Kubernetes and PD look for the zone of a host.
	zoneLabel = "topology.kubernetes.io/zone"
)

// Host is a machine of the cluster: a network namespace with a container runtime, a kubelet and a service proxy.
// The API server, the controllers and the DNS server are in the namespace of the first one.
type Host struct {
	layout Layout
	number int
}

func (l Layout) host(number int) Host { return Host{l, number} }

// Name of the host in Kubernetes.
func (h Host) Name() string { return "node" + strconv.Itoa(h.number) }

func (h Host) first() bool { return h.number == 0 }

// Zone of the host. There are three of them, as many as copies of data.
func (h Host) Zone() string { return "zone-" + string("abc"[h.number%3]) }

// path names a file of the host. Those of the first host are in the state folder itself.
func (h Host) path(elements ...string) string {
	if h.first() {
		return h.layout.path(elements...)
	}
	return h.layout.path(append([]string{"hosts", h.Name()}, elements...)...)
}

func (h Host) config(name string) string { return h.path("config", name) }
func (h Host) runtimeSocket() string     { return h.path("containerd", "containerd.sock") }

// bootID is the file with what tells one start of the host from the next. Hosts share the kernel's.
func (h Host) bootID() string { return h.config("boot-id") }

// program names a program of the host among all of the node's.
func (h Host) program(name string) string {
	if h.first() {
		return name
	}
	return path.Join(h.Name(), name)
}

func (h Host) log(name string) string { return h.layout.log(h.program(name)) }

// owns reports whether a process is one of the programs that end when the host crashes.
func (h Host) owns(record process.Record) bool {
	return slices.ContainsFunc(hostPrograms(), func(name string) bool { return record.Name == h.program(name) })
}

// kubeletUser is the file name of the kubelet's identity.
func (h Host) kubeletUser() string {
	if h.first() {
		return kubeletUser
	}
	return kubeletUser + "-" + h.Name()
}

func (h Host) namespace() netns.Namespace {
	if h.first() {
		return netns.Namespace{Name: h.layout.Name()}
	}
	return netns.Namespace{Name: h.layout.Name() + "-" + h.Name()}
}

// groupOf is the control group of a host's programs and of whatever they start. It is below the node's group.
func (n *Node) groupOf(h Host) process.Group {
	return process.Group{Name: path.Join(n.group.Name, h.Name()), Hierarchies: n.group.Hierarchies}
}

// hosts lists all hosts of the node, also those that have crashed.
func (n *Node) hosts() []Host {
	var hosts []Host
	for number := range max(n.state.Hosts, 1) {
		hosts = append(hosts, n.Layout.host(number))
	}
	return hosts
}

// running lists the hosts that have not crashed.
func (n *Node) running() []Host {
	return slices.DeleteFunc(n.hosts(), func(h Host) bool { return n.crashed(h) })
}

func (n *Node) crashed(h Host) bool { return slices.Contains(n.state.Crashed, h.Name()) }

// find returns the host with a name.
func (n *Node) find(name string) (Host, error) {
	if !n.state.Ready || n.state.Alone {
		return Host{}, fmt.Errorf("no host runs; start some: make node-up HOSTS=3")
	}
	if n.state.Hosts == 0 {
		return Host{}, errOlder
	}
	var names []string
	for _, h := range n.hosts() {
		if h.Name() == name {
			return h, nil
		}
		names = append(names, h.Name())
	}
	return Host{}, fmt.Errorf("there is no host %s, there is %s", cmp.Or(name, `""`), strings.Join(names, ", "))
}
