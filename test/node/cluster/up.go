package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/build"
	"github.com/kubectl-tidb/kubectl-tidb/test/node/kubeapi"
	"github.com/kubectl-tidb/kubectl-tidb/test/node/netns"
	"github.com/kubectl-tidb/kubectl-tidb/test/node/process"
)

// Node is the cluster on this machine.
type Node struct {
	Layout   Layout
	Programs build.Set
	// Images is the archive of container images to import.
	Images   string
	Progress io.Writer
	// Hosts is how many there are to be; 0 is as many as there are, and at least one.
	Hosts int
	// Alone leaves out all but etcd and the API server: nothing acts on what it holds.
	Alone bool

	namespace netns.Namespace
	group     process.Group
	state     State
	// wanted is the network of a node that is started for the first time, or again after down.
	wanted int
}

// Open prepares for starting or stopping the node.
func Open(layout Layout, progress io.Writer) (*Node, error) {
	if err := layout.check(); err != nil {
		return nil, err
	}
	group, err := process.OpenGroup(layout.Name())
	if err != nil {
		return nil, err
	}
	state, err := layout.LoadState()
	if err != nil {
		return nil, err
	}
	wanted := layout.Network
	layout.Network = state.Network
	return &Node{
		Layout: layout, Progress: progress,
		namespace: layout.host(0).namespace(), group: group, state: state, wanted: wanted,
	}, nil
}

// Up brings the node up, or leaves it alone when it is up already, but for hosts that are to be added.
func (n *Node) Up(ctx context.Context) error {
	if n.healthy(ctx) {
		if err := n.refreshImages(ctx); err != nil {
			return err
		}
		if len(n.state.Crashed) > 0 || len(n.state.Cuts) > 0 {
			fmt.Fprintln(n.Progress, "hosts have crashed or are cut off, as go run . hosts lists; to take that back: go run . mend")
		}
		return n.grow(ctx)
	}
	if err := n.clean(0); err != nil {
		return fmt.Errorf("clean what an earlier run left: %w", err)
	}
	started := time.Now()
	if err := n.prepare(); err != nil {
		return err
	}
	if err := n.start(ctx); err != nil {
		return err
	}
	n.state.Ready = true
	if err := n.Layout.save(n.state); err != nil {
		return err
	}
	fmt.Fprintf(n.Progress, "node is ready after %.1fs\n", time.Since(started).Seconds())
	return n.grow(ctx)
}

// healthy reports whether everything that was started still runs and the API server answers on the forwarded port.
func (n *Node) healthy(ctx context.Context) bool {
	if !n.state.Ready || len(n.state.Processes) == 0 {
		return false
	}
	if n.state.Alone != n.Alone {
		fmt.Fprintln(n.Progress, "the running node is of the other kind, starting afresh")
		return false
	}
	if n.wanted != 0 && n.wanted != n.state.Network {
		fmt.Fprintf(n.Progress, "the running node has the network %d, starting afresh\n", n.state.Network)
		return false
	}
	for _, record := range n.state.Processes {
		if !record.Alive() {
			fmt.Fprintf(n.Progress, "%s of the running node has ended, starting afresh\n", record.Name)
			return false
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	client, err := n.client()
	if err == nil {
		err = client.Call(ctx, "GET", "/readyz", nil, nil)
	}
	if err != nil {
		fmt.Fprintf(n.Progress, "the running node does not answer (%v), starting afresh\n", err)
	}
	return err == nil
}

// refreshImages imports images that were built again while the node was up.
func (n *Node) refreshImages(ctx context.Context) error {
	if n.Alone || n.state.Images == n.Images {
		fmt.Fprintln(n.Progress, "node is up already")
		return nil
	}
	if err := n.importEverywhere(ctx, n.Images); err != nil {
		return err
	}
	n.state.Images = n.Images
	fmt.Fprintln(n.Progress, "node is up already, its images are renewed")
	return n.Layout.save(n.state)
}

// prepare makes everything that programs expect to find.
func (n *Node) prepare() error {
	port, err := freePort()
	if err != nil {
		return err
	}
	n.Layout.Network = n.wanted
	n.state = State{Port: port, Images: n.Images, Alone: n.Alone, Network: n.wanted, Hosts: 1}
	if err := os.MkdirAll(n.Layout.Root, 0o755); err != nil {
		return fmt.Errorf("create the state folder: %w", err)
	}
	// First of all: it marks the folder as a node's, and from here on "down" finds what there is to clean.
	if err := n.Layout.save(n.state); err != nil {
		return err
	}
	for _, folder := range []string{"logs", "bin", "libexec"} {
		if err := os.MkdirAll(n.Layout.path(folder), 0o755); err != nil {
			return fmt.Errorf("create the state folder: %w", err)
		}
	}
	first := n.Layout.host(0)
	if err := first.createFolders(); err != nil {
		return err
	}
	if err := n.linkPrograms(); err != nil {
		return err
	}
	if err := n.Layout.writePKI(); err != nil {
		return err
	}
	if err := errors.Join(n.Layout.writeConfigs(), first.writeConfigs()); err != nil {
		return err
	}
	server := "https://127.0.0.1:" + strconv.Itoa(port)
	if err := n.Layout.writeKubeconfig(n.Layout.Kubeconfig(), adminUser, server); err != nil {
		return err
	}
	return n.namespace.Create(bridge, first.bridgePrefix())
}

func (h Host) createFolders() error {
	for _, folder := range []string{"kubelet", "containerd", "pod-logs"} {
		if err := os.MkdirAll(h.path(folder), 0o755); err != nil {
			return fmt.Errorf("create the folders of %s: %w", h.Name(), err)
		}
	}
	return nil
}

func (n *Node) linkPrograms() error {
	links := map[string]string{
		n.Layout.servers(etcd):                        build.Etcd,
		n.Layout.servers(coredns):                     build.CoreDNS,
		filepath.Join(n.Layout.Programs(), "kubectl"): build.Kubectl,
	}
	for _, name := range kubernetesServers() {
		links[n.Layout.servers(name)] = build.Kubernetes
	}
	for link, part := range links {
		if err := os.Symlink(n.Programs[part], link); err != nil {
			return fmt.Errorf("link the program %s: %w", part, err)
		}
	}
	return nil
}

func (n *Node) client() (*kubeapi.Client, error) {
	return kubeapi.New("https://127.0.0.1:"+strconv.Itoa(n.state.Port), n.Layout.PKI(), adminUser, nil)
}

// launch starts programs in the namespace of the first host.
func (n *Node) launch(names ...string) error {
	for _, name := range names {
		path, arguments := n.Layout.command(name)
		if err := n.launchProgram(n.group, process.Program{
			Name: name, Path: path, Arguments: arguments, Log: n.Layout.log(name), Place: n.namespace.Do,
		}); err != nil {
			return err
		}
	}
	return nil
}

// launchOn starts programs that each host has.
func (n *Node) launchOn(h Host, names ...string) error {
	for _, name := range names {
		path, arguments := h.command(name)
		if err := n.launchProgram(n.groupOf(h), process.Program{
			Name: h.program(name), Path: path, Arguments: arguments, Log: h.log(name), Place: h.namespace().Do,
		}); err != nil {
			return err
		}
	}
	return nil
}

// launchProgram starts a program and records it before anything else can go wrong.
func (n *Node) launchProgram(group process.Group, program process.Program) error {
	record, err := process.Launch(program)
	if err != nil {
		return err
	}
	n.state.Processes = append(n.state.Processes, record)
	if err := n.Layout.save(n.state); err != nil {
		return err
	}
	return group.Add(record.PID)
}

// launchAttendant starts this program again as a daemon, outside the namespace because its port is there.
func (n *Node) launchAttendant() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	return n.launchProgram(n.group, process.Program{
		Name: attendant, Path: self, Arguments: []string{"attend"}, Log: n.Layout.log(attendant),
		Env: []string{"NODE_STATE=" + n.Layout.Root},
	})
}
