package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/process"
)

// Down ends the node and removes everything of it except cached builds.
func (n *Node) Down() error {
	return n.clean(3 * time.Second)
}

// clean ends what was recorded and removes what it left behind. It also works when the recorded programs are long gone
// and only mounts, control groups or the network namespace remain.
func (n *Node) clean(patience time.Duration) error {
	// Backwards: the kubelet must go before the runtime whose containers it would otherwise start again.
	var ended []int
	for _, record := range slices.Backward(n.state.Processes) {
		if record.Alive() {
			ended = append(ended, record.PID)
		}
		limit := patience
		if record.Name == apiServer || record.Name == etcd {
			limit = 0 // They wait for connections to drain, and nobody needs their data any more.
		}
		if err := record.End(limit); err != nil {
			return err
		}
	}
	var containers, strays []string
	for _, h := range n.hosts() {
		containers = append(containers, h.containers()...)
	}
	// Containers and their shims survive the runtime.
	if err := n.group.Empty(containerGroups(containers)...); err != nil {
		return err
	}
	process.AwaitReaped(ended)
	for _, h := range n.hosts() {
		strays = append(strays, h.strays(containers)...)
	}
	strays = append(strays, n.sharedStrays()...)
	if err := unmountBelow(n.Layout.Root); err != nil {
		return err
	}
	if err := n.deleteNamespaces(); err != nil {
		return err
	}
	if err := os.RemoveAll(n.Layout.Root); err != nil {
		return fmt.Errorf("remove the state folder: %w", err)
	}
	n.state = State{}
	return removeStrays(strays)
}

var containerID = regexp.MustCompile(`\b[0-9a-f]{64}\b`)

// deleteNamespaces removes the networks, and with them the links between them.
func (n *Node) deleteNamespaces() error {
	for _, h := range n.hosts() {
		if err := h.namespace().Delete(); err != nil {
			return err
		}
	}
	return n.Layout.switchNamespace().Delete()
}

// containers lists the containers that the host has, and had: every one is named in the runtime's log, and some of
// those that ended long ago still have an empty control group.
func (h Host) containers() []string {
	folders, _ := filepath.Glob(h.path("containerd", "state", taskFolder, "*"))
	var found []string
	for _, folder := range folders {
		found = append(found, filepath.Base(folder))
	}
	log, err := os.ReadFile(h.log(containerd))
	if err == nil {
		found = append(found, containerID.FindAllString(string(log), -1)...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// taskFolder is where the runtime keeps what it knows of a running container.
const taskFolder = "io.containerd.runtime.v2.task/k8s.io"

// containerGroups names the control groups of containers. The runtime puts them beside those of every other containerd
// on the machine.
func containerGroups(containers []string) []string {
	var groups []string
	for _, id := range containers {
		groups = append(groups, filepath.Join("k8s.io", id))
	}
	return groups
}

// strays lists what the programs of a host put outside the state folder, at places that cannot be configured.
func (h Host) strays(containers []string) []string {
	var strays []string
	for _, id := range containers {
		results, _ := filepath.Glob("/var/lib/cni/results/*-" + id + "-*")
		strays = append(strays, results...)
	}
	return append(strays, h.sockets(containers)...)
}

// sockets lists those of the shims of containers.
func (h Host) sockets(containers []string) []string {
	var sockets []string
	for _, id := range containers {
		address, err := os.ReadFile(h.path("containerd", "state", taskFolder, id, "address"))
		if socket, found := strings.CutPrefix(string(address), "unix://"); err == nil && found {
			sockets = append(sockets, socket)
		}
	}
	return sockets
}

// sharedStrays lists what kubelets put at places that they share.
func (n *Node) sharedStrays() []string {
	var strays []string
	// The kubelet links the log of each container here.
	links, _ := filepath.Glob("/var/log/containers/*.log")
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, n.Layout.Root+"/") {
			strays = append(strays, link)
		}
	}
	started := slices.ContainsFunc(n.state.Processes, func(r process.Record) bool { return path.Base(r.Name) == kubelet })
	if started || len(n.state.Crashed) > 0 {
		strays = append(strays, "/var/lib/kubelet/device-plugins/kubelet.sock")
	}
	return strays
}

// removeStrays removes files, and the shared folders that they were in when nothing else is there.
func removeStrays(strays []string) error {
	for _, path := range strays {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove what the node left: %w", err)
		}
	}
	for _, folder := range []string{
		"/var/lib/cni/results", "/var/lib/cni", "/var/lib/kubelet/device-plugins", "/var/lib/kubelet",
		"/var/log/containers", "/run/containerd/s", "/run/containerd",
	} {
		_ = os.Remove(folder)
	}
	return nil
}

// unmountBelow unmounts everything below a folder, deepest first.
func unmountBelow(root string) error {
	points, err := mountsBelow(root)
	if err != nil {
		return err
	}
	for _, point := range points {
		// Detached, so that a program of somebody else that looks into a mount does not keep the node from ending.
		if err := syscall.Unmount(point, syscall.MNT_DETACH); err != nil && !errors.Is(err, syscall.EINVAL) {
			return fmt.Errorf("unmount %s: %w", point, err)
		}
	}
	return nil
}

func mountsBelow(root string) ([]string, error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	defer file.Close()
	var points []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		const pointField = 4
		if len(fields) > pointField && strings.HasPrefix(fields[pointField], root+"/") {
			points = append(points, unescapeMount(fields[pointField]))
		}
	}
	slices.SortFunc(points, func(a, b string) int { return len(b) - len(a) })
	return points, nil
}

// unescapeMount undoes the kernel's octal notation of blanks.
func unescapeMount(point string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(point)
}
