package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/kubeapi"
	"github.com/kubectl-tidb/kubectl-tidb/test/node/netns"
	"github.com/kubectl-tidb/kubectl-tidb/test/node/process"
	"github.com/kubectl-tidb/kubectl-tidb/test/node/volume"
)

// startLimit bounds each wait: a step that takes longer on any machine is broken.
const startLimit = 60 * time.Second

// start brings the programs up in the order in which they need each other.
func (n *Node) start(ctx context.Context) error {
	dialer, err := netns.NewDialer(n.namespace)
	if err != nil {
		return err
	}
	if n.Alone {
		_, err := n.startServer(ctx, dialer)
		return err
	}
	first, since := n.Layout.host(0), time.Now()
	if err := n.launchRuntime(ctx, first); err != nil {
		return err
	}
	// Importing images takes about as long as the control plane needs to start, so both happen at once.
	imported := make(chan error, 1)
	go func() { imported <- n.importInto(ctx, []Host{first}, n.Images) }()
	client, err := n.startServer(ctx, dialer)
	if err != nil {
		return err
	}
	if err := errors.Join(n.launchOn(first, kubelet, proxy), n.launch(controllerManager, scheduler, coredns)); err != nil {
		return err
	}
	if err := volume.Create(ctx, client, n.Layout.Volumes()); err != nil {
		return err
	}
	if err := n.awaitReady(ctx, client, dialer); err != nil {
		return err
	}
	if err := n.awaitHost(ctx, client, first, since); err != nil {
		return err
	}
	return <-imported
}

// startServer brings up the API server, with etcd, and makes a client of it.
func (n *Node) startServer(ctx context.Context, dialer *netns.Dialer) (*kubeapi.Client, error) {
	if err := n.launch(etcd); err != nil {
		return nil, err
	}
	if err := n.await(ctx, "etcd to listen", func(ctx context.Context) error {
		return probe(ctx, dialer, etcdAddress)
	}); err != nil {
		return nil, err
	}
	if err := n.launch(apiServer); err != nil {
		return nil, err
	}
	if err := n.launchAttendant(); err != nil {
		return nil, err
	}
	client, err := n.client()
	if err != nil {
		return nil, err
	}
	return client, n.await(ctx, "the API server to be ready", func(ctx context.Context) error {
		return client.Call(ctx, "GET", "/readyz", nil, nil)
	})
}

// awaitReady waits for everything that a first pod needs besides a host.
func (n *Node) awaitReady(ctx context.Context, client *kubeapi.Client, dialer *netns.Dialer) error {
	if err := n.await(ctx, "the cluster's DNS server to be ready", func(ctx context.Context) error {
		return ready(ctx, dialer, "http://127.0.0.1:"+dnsReadyPort+"/ready")
	}); err != nil {
		return err
	}
	// Pods are refused before their namespace has a service account.
	return n.await(ctx, "the default service account", func(ctx context.Context) error {
		return client.Call(ctx, "GET", "/api/v1/namespaces/default/serviceaccounts/default", nil, nil)
	})
}

func nodePath(name string) string { return "/api/v1/nodes/" + name }

// nodeReady says why a host takes no pods. What its kubelet said before the given time does not count.
func nodeReady(ctx context.Context, client *kubeapi.Client, name string, since time.Time) error {
	var node struct {
		Status struct {
			Conditions []struct {
				Type, Status, Message string
				LastHeartbeatTime     time.Time
			}
		}
		Spec struct {
			Taints []struct{ Key string }
		}
	}
	if err := client.Call(ctx, "GET", nodePath(name), nil, &node); err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type != "Ready" {
			continue
		}
		// Kubernetes knows times of whole seconds.
		if condition.LastHeartbeatTime.Before(since.Truncate(time.Second)) {
			return errors.New("its kubelet has said nothing yet")
		}
		if condition.Status != "True" {
			return errors.New(condition.Message)
		}
		// The taint of a node that is not ready stays a moment longer and would keep the first pods away. A node that a
		// person has cordoned stays cordoned.
		for _, taint := range node.Spec.Taints {
			if taint.Key != unschedulable {
				return fmt.Errorf("node has the taint %s", taint.Key)
			}
		}
		return nil
	}
	return errors.New("node has no Ready condition yet")
}

// unschedulable is the taint of a node that is cordoned.
const unschedulable = "node.kubernetes.io/unschedulable"

// await repeats a check until it succeeds. It fails early when a program has ended, with the end of its log.
func (n *Node) await(ctx context.Context, what string, check func(context.Context) error) error {
	deadline := time.Now().Add(startLimit)
	for {
		attempt, cancel := context.WithTimeout(ctx, 3*time.Second)
		err := check(attempt)
		cancel()
		if err == nil {
			return nil
		}
		if err := n.endedProgram(); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s did not happen within %s: %w; logs are in %s",
				what, startLimit, err, n.Layout.path("logs"))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (n *Node) endedProgram() error {
	for _, record := range n.state.Processes {
		if !record.Alive() {
			log := n.Layout.log(record.Name)
			return fmt.Errorf("%s ended while the node was starting; the end of %s:\n%s",
				record.Name, log, process.LastLines(log, 15))
		}
	}
	return nil
}

func probe(ctx context.Context, dialer *netns.Dialer, address string) error {
	conn, err := dialer.Dial(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

func ready(ctx context.Context, dialer *netns.Dialer, url string) error {
	client := http.Client{Transport: &http.Transport{DialContext: dialer.Dial, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", url, response.Status)
	}
	return nil
}

// freePort asks the kernel for a port of the ordinary network namespace.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
