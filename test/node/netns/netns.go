// Package netns keeps the node in a network namespace of its own: its listeners, pods and firewall rules never touch
// the machine's network, and removing the namespace removes all of them.
package netns

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Namespace is a named network namespace.
type Namespace struct{ Name string }

// Path is where the namespace is kept.
func (n Namespace) Path() string { return filepath.Join("/run/netns", n.Name) }

// Exists reports whether the namespace is there.
func (n Namespace) Exists() bool {
	_, err := os.Stat(n.Path())
	return err == nil
}

// Create makes the namespace with a bridge for pods that has the given address (with prefix length).
func (n Namespace) Create(bridge, address string) error {
	mac, err := bridgeMAC(address)
	if err != nil {
		return err
	}
	if err := n.add(); err != nil {
		return fmt.Errorf("create network namespace %s: %w", n.Name, err)
	}
	if err := n.configure([][]string{
		{"link", "set", "lo", "up"},
		{"link", "add", bridge, "address", mac, "type", "bridge"},
		{"address", "add", address, "dev", bridge},
		{"link", "set", bridge, "up"},
		// Nothing is reachable by this route, but service addresses need some route before they are translated.
		{"route", "add", "default", "dev", bridge},
	}); err != nil {
		return err
	}
	return n.set(map[string]string{
		"net/ipv4/ip_forward": "1",
		// Without it a pod's answer to a neighbour on the same bridge passes by the firewall, and a connection
		// through a service never sees the address it expects.
		"net/bridge/bridge-nf-call-iptables": "1",
	})
}

// bridgeMAC is the address of a bridge. Without one of its own, a bridge takes the lowest address of its
// ports, another one whenever pods come and go. What a pod sends to the former one is dropped, so that for up
// to 40 seconds, until the pod asks for the address again, it reached no DNS server, and PD ended.
// It is made of the IP address, since bridges of several hosts are in one segment.
func bridgeMAC(address string) (string, error) {
	prefix, err := netip.ParsePrefix(address)
	if err != nil {
		return "", fmt.Errorf("the address of a bridge: %w", err)
	}
	ip := prefix.Addr().As4()
	return fmt.Sprintf("0a:58:%02x:%02x:%02x:%02x", ip[0], ip[1], ip[2], ip[3]), nil
}

// configure runs commands of ip in the namespace.
func (n Namespace) configure(steps [][]string) error {
	for _, step := range steps {
		if err := ip(append([]string{"-n", n.Name}, step...)...); err != nil {
			return fmt.Errorf("configure network namespace %s: %w", n.Name, err)
		}
	}
	return nil
}

// set changes settings of the kernel that each namespace has.
func (n Namespace) set(settings map[string]string) error {
	return n.Do(func() error {
		for setting, value := range settings {
			path := filepath.Join("/proc/sys", setting)
			if err := os.WriteFile(path, []byte(value), 0o644); err != nil {
				return fmt.Errorf("configure network namespace %s: %w", n.Name, err)
			}
		}
		return nil
	})
}

// add does what "ip netns add" does, except that it leaves no mount over the folder of all namespaces.
func (n Namespace) add() error {
	if err := os.MkdirAll(filepath.Dir(n.Path()), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(n.Path(), nil, 0o444); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // Never unlocked: the thread belongs to the new namespace.
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			done <- err
			return
		}
		done <- unix.Mount("/proc/thread-self/ns/net", n.Path(), "", unix.MS_BIND, "")
	}()
	return <-done
}

// Delete removes the namespace.
func (n Namespace) Delete() error {
	if !n.Exists() {
		return nil
	}
	// A file without a mount is what an interrupted creation leaves.
	if err := unix.Unmount(n.Path(), unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("delete network namespace %s: %w", n.Name, err)
	}
	if err := os.Remove(n.Path()); err != nil {
		return fmt.Errorf("delete network namespace %s: %w", n.Name, err)
	}
	// The folder stays when there are other namespaces in it.
	_ = os.Remove(filepath.Dir(n.Path()))
	return nil
}

// Do runs work in the namespace. Programs that it starts and sockets that it opens belong to the namespace.
func (n Namespace) Do(work func() error) error {
	done := make(chan error, 1)
	go func() {
		// Never unlocked: the thread cannot be trusted to leave the namespace again, so it ends with this goroutine.
		runtime.LockOSThread()
		if err := n.enter(); err != nil {
			done <- err
			return
		}
		done <- work()
	}()
	return <-done
}

// enter moves the calling thread into the namespace; its goroutine must be locked to it.
func (n Namespace) enter() error {
	file, err := os.Open(n.Path())
	if err != nil {
		return fmt.Errorf("enter network namespace %s: %w", n.Name, err)
	}
	defer file.Close()
	if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace %s: %w", n.Name, err)
	}
	return nil
}

func ip(arguments ...string) error {
	command := exec.Command("ip", arguments...)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Run(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(output.String()))
	}
	return nil
}
