package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/kubeapi"
	"github.com/kubectl-tidb/kubectl-tidb/test/node/netns"
	"github.com/kubectl-tidb/kubectl-tidb/test/node/pki"
	"github.com/kubectl-tidb/kubectl-tidb/test/node/volume"
)

var errOlder = errors.New("the running node was started by an older version, and its addresses have no room for a second " +
	"host; start it again: make node-down, then make node-up HOSTS=3")

// grow adds hosts until the node has the wanted number of hosts. Hosts that run already are not restarted.
func (n *Node) grow(ctx context.Context) error {
	have := len(n.hosts())
	switch {
	case n.Hosts == 0 || n.Hosts == have:
		return nil
	case n.Hosts < have:
		return fmt.Errorf("the running node has %d hosts, and they cannot become fewer; start it again: "+
			"make node-down, then make node-up HOSTS=%d", have, n.Hosts)
	case n.state.Hosts == 0:
		return errOlder
	}
	started := time.Now()
	// The state comes first, so that "down" finds what there is to clean. Until all hosts are ready the node is not, so
	// that "up" starts afresh after an interruption.
	n.state.Hosts, n.state.Ready = n.Hosts, false
	if err := n.Layout.save(n.state); err != nil {
		return err
	}
	if err := n.add(ctx, have); err != nil {
		return err
	}
	fmt.Fprintf(n.Progress, "%d hosts are ready, %d of them added in %.1fs\n",
		n.Hosts, n.Hosts-have, time.Since(started).Seconds())
	n.state.Ready = true
	return n.Layout.save(n.state)
}

// add starts the hosts that the node has more than before.
func (n *Node) add(ctx context.Context, before int) error {
	added := n.hosts()[before:]
	withDisks := added
	for _, h := range added {
		if err := n.furnish(h); err != nil {
			return err
		}
	}
	if before == 1 {
		first := n.Layout.host(0)
		withDisks = append([]Host{first}, added...)
		if err := n.connect(first); err != nil {
			return err
		}
	}
	if err := n.applyCuts(); err != nil {
		return err
	}
	client, err := n.client()
	if err != nil {
		return err
	}
	if err := n.startHosts(ctx, client, added, n.archives()); err != nil {
		return err
	}
	if err := n.labelFirst(ctx, client); err != nil {
		return err
	}
	for _, h := range withDisks {
		if err := volume.CreateDisks(ctx, client, n.Layout.Volumes(), h.Name()); err != nil {
			return err
		}
	}
	return nil
}

// furnish makes what the programs of an added host expect to find.
func (n *Node) furnish(h Host) error {
	if err := h.createFolders(); err != nil {
		return err
	}
	authority, err := pki.OpenAuthority(n.Layout.PKI())
	if err != nil {
		return err
	}
	if err := authority.Issue(h.identity()); err != nil {
		return err
	}
	return h.writeConfigs()
}

// archives lists what an added host is to import: the images of the node, and what was loaded later.
func (n *Node) archives() []string {
	return append([]string{n.Images}, slices.DeleteFunc(slices.Clone(n.state.Loaded), func(archive string) bool {
		_, err := os.Stat(archive)
		return err != nil
	})...)
}

// startHosts starts hosts that do not run, and waits until Kubernetes uses them. They import archives of images.
func (n *Node) startHosts(ctx context.Context, client *kubeapi.Client, hosts []Host, archives []string) error {
	since := time.Now()
	for _, h := range hosts {
		if err := n.launchRuntime(ctx, h); err != nil {
			return err
		}
	}
	imported := make(chan error, 1)
	go func() { imported <- n.importInto(ctx, hosts, archives...) }()
	for _, h := range hosts {
		if err := n.launchOn(h, kubelet, proxy); err != nil {
			return errors.Join(err, <-imported)
		}
	}
	for _, h := range hosts {
		if err := n.awaitHost(ctx, client, h, since); err != nil {
			return errors.Join(err, <-imported)
		}
	}
	return <-imported
}

// launchRuntime gives a host its network and its container runtime.
func (n *Node) launchRuntime(ctx context.Context, h Host) error {
	if !h.first() {
		if err := h.namespace().Create(bridge, h.bridgePrefix()); err != nil {
			return err
		}
		if err := n.connect(h); err != nil {
			return err
		}
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/uuid") // Another one each time.
	if err != nil {
		return fmt.Errorf("draw the boot id of %s: %w", h.Name(), err)
	}
	if err := writeFiles(map[string]string{h.bootID(): string(boot)}); err != nil {
		return err
	}
	if err := n.launchOn(h, containerd); err != nil {
		return err
	}
	return n.await(ctx, "containerd to answer", func(ctx context.Context) error {
		_, err := ctr(ctx, h, "version")
		return err
	})
}

// awaitHost waits until a host takes pods. What Kubernetes knew of it before the given time does not count. A host that
// is cut from the API server is not waited for.
func (n *Node) awaitHost(ctx context.Context, client *kubeapi.Client, h Host, since time.Time) error {
	dialer, err := netns.NewDialer(h.namespace())
	if err != nil {
		return err
	}
	if err := n.await(ctx, "the service proxy of "+h.Name()+" to be ready", func(ctx context.Context) error {
		return ready(ctx, dialer, "http://"+proxyHealth+"/healthz")
	}); err != nil {
		return err
	}
	if n.cutFromAPI(h) {
		fmt.Fprintf(n.Progress, "%s is cut from the API server, which cannot see that it runs\n", h.Name())
		return nil
	}
	return n.await(ctx, h.Name()+" to be ready", func(ctx context.Context) error {
		return nodeReady(ctx, client, h.Name(), since)
	})
}

// labelFirst gives the first host a zone. A host that is alone has no zone.
func (n *Node) labelFirst(ctx context.Context, client *kubeapi.Client) error {
	first := n.Layout.host(0)
	labels := map[string]any{"metadata": map[string]any{"labels": map[string]string{zoneLabel: first.Zone()}}}
	if err := client.Call(ctx, "PATCH", nodePath(first.Name()), labels, nil); err != nil {
		return fmt.Errorf("label %s with its zone: %w", first.Name(), err)
	}
	return nil
}

// cutFromAPI reports whether a host cannot reach the API server.
func (n *Node) cutFromAPI(h Host) bool {
	first := n.Layout.host(0).Name()
	return slices.ContainsFunc(n.state.Cuts, func(c Cut) bool {
		switch {
		case h.first():
			return false
		case c.Host == h.Name():
			return c.From == fromAll || c.From == fromAPI || c.From == first
		}
		return c.Host == first && (c.From == fromAll || c.From == h.Name())
	})
}
