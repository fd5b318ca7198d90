package cluster

import (
	"context"
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
	"github.com/kubectl-tidb/kubectl-tidb/test/node/volume"
)

// Node is the node on this machine.
type Node struct {
	Layout   Layout
	Programs build.Set
	// Images is the archive of container images to import.
	Images   string
	Progress io.Writer
	// Alone leaves out all but etcd and the API server: nothing acts on what it holds.
	Alone bool

	namespace netns.Namespace
	group     process.Group
	state     State
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
	return &Node{
		Layout: layout, Progress: progress,
		namespace: netns.Namespace{Name: layout.Name()}, group: group, state: state,
	}, nil
}

// Up brings the node up, or leaves it alone when it is up already.
func (n *Node) Up(ctx context.Context) error {
	if n.healthy(ctx) {
		return n.refreshImages(ctx)
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
	return nil
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
	if err := n.importImages(ctx); err != nil {
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
	n.state = State{Port: port, Images: n.Images, Alone: n.Alone}
	if err := os.MkdirAll(n.Layout.Root, 0o755); err != nil {
		return fmt.Errorf("create the state folder: %w", err)
	}
	// First of all: it marks the folder as a node's, and from here on "down" finds what there is to clean.
	if err := n.Layout.save(n.state); err != nil {
		return err
	}
	for _, folder := range []string{"logs", "kubelet", "containerd", "pod-logs", "bin", "libexec"} {
		if err := os.MkdirAll(n.Layout.path(folder), 0o755); err != nil {
			return fmt.Errorf("create the state folder: %w", err)
		}
	}
	if err := n.linkPrograms(); err != nil {
		return err
	}
	if err := n.Layout.writePKI(); err != nil {
		return err
	}
	if err := n.Layout.writeConfigs(); err != nil {
		return err
	}
	server := "https://127.0.0.1:" + strconv.Itoa(port)
	if err := n.Layout.writeKubeconfig(n.Layout.Kubeconfig(), adminUser, server); err != nil {
		return err
	}
	return n.namespace.Create(bridge, bridgePrefix)
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

// launch starts a program in the namespace and records it before anything else can go wrong.
func (n *Node) launch(name string) error {
	path, arguments := n.Layout.command(name)
	return n.launchProgram(process.Program{
		Name: name, Path: path, Arguments: arguments, Log: n.Layout.log(name), Place: n.namespace.Do,
	})
}

func (n *Node) launchProgram(program process.Program) error {
	record, err := process.Launch(program)
	if err != nil {
		return err
	}
	n.state.Processes = append(n.state.Processes, record)
	if err := n.Layout.save(n.state); err != nil {
		return err
	}
	return n.group.Add(record.PID)
}

// launchAttendant starts this program again as a daemon, outside the namespace because its port is there.
func (n *Node) launchAttendant() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	return n.launchProgram(process.Program{
		Name: attendant, Path: self, Arguments: []string{"attend"}, Log: n.Layout.log(attendant),
		Env: []string{"NODE_STATE=" + n.Layout.Root},
	})
}

func (n *Node) createVolumes(ctx context.Context, client *kubeapi.Client) error {
	return volume.Create(ctx, client, n.Layout.Volumes())
}
