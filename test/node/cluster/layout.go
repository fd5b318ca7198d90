// Package cluster starts and stops a Kubernetes cluster of one or several hosts, and breaks hosts of it.
package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/process"
)

// Layout names the files of a node's state folder.
type Layout struct {
	Root string
	// Network tells the addresses of clusters apart that are joined.
	Network int
}

// DefaultState is where a node keeps its state unless NODE_STATE says otherwise.
const DefaultState = "/var/lib/kubectl-tidb-node"

// NewLayout reads the state folder and the network from the environment.
func NewLayout() (Layout, error) {
	root := os.Getenv("NODE_STATE")
	if root == "" {
		root = DefaultState
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return Layout{}, fmt.Errorf("find the state folder: %w", err)
	}
	if filepath.Dir(root) == "/" {
		return Layout{}, fmt.Errorf("NODE_STATE is %s; choose a folder of its own, at least two levels deep", root)
	}
	network, err := parseNetwork(os.Getenv("NODE_NETWORK"))
	return Layout{root, network}, err
}

func parseNetwork(value string) (int, error) {
	if value == "" {
		return 0, nil
	}
	network, err := strconv.Atoi(value)
	if err != nil || network < 0 || network >= MaxNetworks {
		return 0, fmt.Errorf("NODE_NETWORK is %q; choose a number from 0 to %d", value, MaxNetworks-1)
	}
	return network, nil
}

// check refuses a folder that holds anything but a node: a mistaken NODE_STATE must not make "down" delete it.
func (l Layout) check() error {
	entries, err := os.ReadDir(l.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look into the state folder: %w", err)
	}
	if _, err := os.Stat(l.stateFile()); err != nil && len(entries) > 0 {
		return fmt.Errorf("%s holds something other than a node; choose another folder with NODE_STATE", l.Root)
	}
	return nil
}

// Name of everything that the node has in places shared with other programs, such as its network namespace. Nodes with
// different state folders can run side by side.
func (l Layout) Name() string { return filepath.Base(l.Root) }

func (l Layout) path(elements ...string) string {
	return filepath.Join(append([]string{l.Root}, elements...)...)
}

// Kubeconfig is the file to use from the ordinary network namespace.
func (l Layout) Kubeconfig() string { return l.path("kubeconfig") }

// Programs is the folder to put on the PATH.
func (l Layout) Programs() string { return l.path("bin") }

// Volumes holds the folders behind persistent volumes.
func (l Layout) Volumes() string { return l.path("volumes") }

// PKI holds the certificates.
func (l Layout) PKI() string { return l.path("pki") }

func (l Layout) log(name string) string     { return l.path("logs", name+".log") }
func (l Layout) config(name string) string  { return l.path("config", name) }
func (l Layout) servers(name string) string { return l.path("libexec", name) }
func (l Layout) stateFile() string          { return l.path("state.json") }

// State is what a node remembers between calls.
type State struct {
	// Port on the loopback interface of the ordinary network namespace.
	Port int `json:"port"`
	// Images is the archive that was imported last.
	Images string `json:"images"`
	// Loaded are the archives that were imported besides.
	Loaded []string `json:"loaded,omitempty"`
	// Alone: the API server has no controllers, and no node has joined it.
	Alone bool `json:"alone,omitempty"`
	// Network is that of the layout that the node was started with.
	Network int `json:"network,omitempty"`
	// Hosts is how many there are; 0 was written by versions that knew of one host only.
	Hosts int `json:"hosts,omitempty"`
	// Crashed names the hosts that have crashed and were not started again.
	Crashed   []string         `json:"crashed,omitempty"`
	Cuts      []Cut            `json:"cuts,omitempty"`
	Ready     bool             `json:"ready"`
	Processes []process.Record `json:"processes"`
}

// LoadState reads what an earlier call left; without any, the state is empty.
func (l Layout) LoadState() (State, error) {
	var state State
	content, err := os.ReadFile(l.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return state, nil
	}
	if err != nil {
		return state, fmt.Errorf("read the node's state: %w", err)
	}
	if err := json.Unmarshal(content, &state); err != nil {
		return state, fmt.Errorf("read the node's state in %s: %w", l.stateFile(), err)
	}
	return state, nil
}

// save writes the state by rename, so that an interruption never leaves half a file and forgotten processes.
func (l Layout) save(state State) error {
	content, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the node's state: %w", err)
	}
	unfinished := l.stateFile() + ".new"
	if err := os.WriteFile(unfinished, content, 0o600); err != nil {
		return fmt.Errorf("write the node's state: %w", err)
	}
	if err := os.Rename(unfinished, l.stateFile()); err != nil {
		return fmt.Errorf("write the node's state: %w", err)
	}
	return nil
}

// Lock keeps two calls from changing the node at the same time. It locks the folder above the state folder, which
// outlives the node, so that no lock file is left behind. It waits a while for the other call to end.
func (l Layout) Lock(patience time.Duration) (func(), error) {
	above := filepath.Dir(l.Root)
	if err := os.MkdirAll(above, 0o755); err != nil {
		return nil, fmt.Errorf("create the folder above the state folder: %w", err)
	}
	folder, err := os.Open(above)
	if err != nil {
		return nil, fmt.Errorf("lock the state folder: %w", err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if err = syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return func() { folder.Close() }, nil
		}
		if time.Now().After(deadline) {
			folder.Close()
			return nil, fmt.Errorf("lock the state folder, is another call to the node running? %w", err)
		}
	}
}
