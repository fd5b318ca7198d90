package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// CrashHost ends a host as a loss of power does: no program on it can tidy up. Its disks stay. Of the first host the
// API server, the controllers and the DNS server run on, as if they were elsewhere.
func (n *Node) CrashHost(name string) error {
	h, err := n.find(name)
	if err != nil {
		return err
	}
	if n.crashed(h) {
		return fmt.Errorf("%s has crashed already; start it again: go run . mend %s", name, name)
	}
	return n.crash(h)
}

func (n *Node) crash(h Host) error {
	n.state.Crashed = append(n.state.Crashed, h.Name())
	// The network first: ends of connections would tell the other hosts more than a loss of power does.
	if err := n.unplug(h); err != nil {
		return err
	}
	containers := h.containers()
	sockets := h.sockets(containers)
	if err := n.groupOf(h).Empty(containerGroups(containers)...); err != nil {
		return err
	}
	n.state.Processes = slices.DeleteFunc(n.state.Processes, h.owns)
	if err := n.Layout.save(n.state); err != nil {
		return err
	}
	for _, folder := range []string{h.path("kubelet"), h.path("containerd")} {
		if err := unmountBelow(folder); err != nil {
			return err
		}
	}
	// What a machine keeps in memory only.
	if err := os.RemoveAll(h.path("containerd", "state")); err != nil {
		return fmt.Errorf("remove the state of the container runtime of %s: %w", h.Name(), err)
	}
	if err := removeStrays(sockets); err != nil {
		return err
	}
	if h.first() {
		return nil
	}
	return h.namespace().Delete()
}

// Mend takes back the cuts of hosts, and starts those that have crashed; without names, all of them.
func (n *Node) Mend(ctx context.Context, names []string) error {
	var hosts []Host
	for _, name := range names {
		h, err := n.find(name)
		if err != nil {
			return err
		}
		hosts = append(hosts, h)
	}
	if len(names) == 0 {
		if _, err := n.find(n.Layout.host(0).Name()); err != nil {
			return err
		}
		hosts = n.hosts()
	}
	before := len(n.state.Cuts)
	for _, h := range hosts {
		n.state.Cuts = slices.DeleteFunc(n.state.Cuts, func(c Cut) bool { return c.concerns(h.Name()) })
	}
	if err := n.changeCuts(); err != nil {
		return err
	}
	crashed := slices.DeleteFunc(hosts, func(h Host) bool { return !n.crashed(h) })
	if len(crashed) == 0 && len(n.state.Cuts) == before {
		fmt.Fprintln(n.Progress, "there is nothing to mend")
		return nil
	}
	return n.revive(ctx, crashed)
}

// Reboot crashes a host and starts it again, also one that has crashed. Its cuts stay.
func (n *Node) Reboot(ctx context.Context, name string) error {
	h, err := n.find(name)
	if err != nil {
		return err
	}
	if !n.crashed(h) {
		if err := n.crash(h); err != nil {
			return err
		}
	}
	return n.revive(ctx, []Host{h})
}

// revive starts hosts that have crashed.
func (n *Node) revive(ctx context.Context, hosts []Host) error {
	if len(hosts) == 0 {
		return nil
	}
	started := time.Now()
	for _, h := range hosts {
		n.state.Crashed = slices.DeleteFunc(n.state.Crashed, func(name string) bool { return name == h.Name() })
	}
	if err := n.applyCuts(); err != nil {
		return err
	}
	client, err := n.client()
	if err == nil {
		err = n.startHosts(ctx, client, hosts, nil)
	}
	if err != nil {
		// They can be started again only if they count as crashed.
		for _, h := range hosts {
			err = errors.Join(err, n.crash(h))
		}
		return err
	}
	for _, h := range hosts {
		fmt.Fprintf(n.Progress, "%s runs again after %.1fs\n", h.Name(), time.Since(started).Seconds())
	}
	return n.Layout.save(n.state)
}

// CutHost interrupts the network between a host and others.
func (n *Node) CutHost(operands []string) error {
	cut, err := parseCut(operands)
	if err != nil {
		return err
	}
	if _, err := n.find(cut.Host); err != nil {
		return err
	}
	if err := checkCut(cut, n.hosts()); err != nil {
		return err
	}
	if slices.Contains(n.state.Cuts, cut) {
		return fmt.Errorf("%s is %s already; take it back: go run . mend %s", cut.Host, cut, cut.Host)
	}
	n.state.Cuts = append(n.state.Cuts, cut)
	return n.changeCuts()
}

func (n *Node) changeCuts() error {
	return errors.Join(n.applyCuts(), n.Layout.save(n.state))
}
