package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/test/memoryapi"
)

// creators is how many TidbClusters are created at the same time.
const creators = 16

// bench is the clusters, and the daemons that look after them.
type bench struct {
	options
	clients
	api     *memoryapi.Server // nil without -memory
	sets    *sets
	daemons []process
}

// process is a daemon.
type process struct {
	*exec.Cmd
	address string // where it answers
}

// measure makes clusters, has a daemon drive them, and writes what it costs.
func measure(ctx context.Context, o options) error {
	var api *memoryapi.Server
	if o.memory {
		var stop func()
		var err error
		if api, stop, err = serveMemory(&o); err != nil {
			return err
		}
		defer stop()
	}
	c, err := connect(o)
	if err != nil {
		return err
	}
	if err := c.noControllers(ctx); err != nil {
		return err
	}
	h := &bench{options: o, clients: c, api: api}
	if err := h.makeNamespace(ctx); err != nil {
		return err
	}
	backend, stopServer, err := serveDatabase(o)
	if err != nil {
		return err
	}
	defer stopServer()
	pods, stop := context.WithCancel(ctx)
	defer stop()
	if h.sets, err = newSets(c, o.namespace); err != nil {
		return err
	}
	go h.sets.run(pods)
	defer h.stopDaemons()
	if err := h.startDaemons(ctx, backend); err != nil {
		return err
	}
	if o.commands {
		return h.measureCommands(ctx, stop)
	}
	r := result{clusters: o.clusters, size: o.size, daemons: o.daemons, rate: o.rate}
	for i, phase := range []func(context.Context, *result) error{h.create, h.rest, h.change} {
		fmt.Fprintf(os.Stderr, "%s: %s\n", time.Now().Format(time.TimeOnly), []string{"creating clusters", "idle", "changing clusters"}[i])
		if err := phase(ctx, &r); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "%s: done\n", time.Now().Format(time.TimeOnly))
	r.print(os.Stdout)
	return nil
}

// noControllers refuses an API server that has nodes.
func (c clients) noControllers(ctx context.Context) error {
	nodes, err := c.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err == nil && len(nodes.Items) > 0 {
		err = errors.New("this program does the work of controllers, and that would be done twice here: " +
			"it needs an API server without any, see the command api of test/node")
	}
	return err
}

// serveDatabase answers for PD, TiKV and TiDB, at one address, and where the plugin looks for them if it is
// the plugin that is measured.
func serveDatabase(o options) (address string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: database{o.namespace, o.size}, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	stop = func() { _ = server.Close() }
	if o.program != "" {
		if err := servePorts(server); err != nil {
			stop()
			return "", nil, err
		}
	}
	return l.Addr().String(), stop, nil
}

func (h *bench) makeNamespace(ctx context.Context) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: h.namespace}}
	_, err := h.kube.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("namespace %s exists; start the API server afresh, or give another one with -namespace", h.namespace)
	}
	if err != nil {
		return err
	}
	// Pods are refused before their namespace has a service account.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	_, err = h.kube.CoreV1().ServiceAccounts(h.namespace).Create(ctx, account, metav1.CreateOptions{})
	return err
}

// serveMemory serves an API in memory, and has the other programs use it.
func serveMemory(o *options) (api *memoryapi.Server, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	api = memoryapi.New()
	server := &http.Server{Handler: api, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	folder, err := os.MkdirTemp("", "manyclusters")
	if err != nil {
		return nil, nil, err
	}
	o.kubeconfig = filepath.Join(folder, "kubeconfig")
	stop = func() {
		_ = server.Close()
		_ = os.RemoveAll(folder)
	}
	return api, stop, memoryapi.Kubeconfig(o.kubeconfig, "http://"+l.Addr().String())
}

// servePorts serves where the plugin looks for PD and TiDB.
func servePorts(s *http.Server) error {
	for _, port := range []int{topology.PDClientPort, topology.TiDBStatusPort} {
		l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", podIP, port))
		if err != nil {
			return err
		}
		go func() { _ = s.Serve(l) }()
	}
	return nil
}

func (h *bench) startDaemons(ctx context.Context, backend string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for n := range h.options.daemons {
		log, err := os.CreateTemp("", "manyclusters-daemon-*.log")
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "a daemon's log:", log.Name())
		p := process{address: fmt.Sprintf("127.0.0.1:%d", 18089+n)}
		args := []string{"-kubeconfig", h.kubeconfig, "-namespace", h.namespace, "-backend", backend, "-listen", p.address}
		if h.options.daemons > 1 {
			args = append(args, "-shard", fmt.Sprintf("%d/%d", n, h.options.daemons))
		}
		p.Cmd = exec.CommandContext(ctx, self, args...)
		if h.program != "" {
			p.Cmd = exec.CommandContext(ctx, h.program, h.watch(p.address, n)...)
		}
		p.Stderr = log
		p.Cancel = func() error { return p.Process.Signal(syscall.SIGTERM) }
		p.WaitDelay = time.Minute
		if err := p.Start(); err != nil {
			return err
		}
		h.daemons = append(h.daemons, p)
	}
	return nil
}

// watch are the arguments of the plugin for a daemon.
func (h *bench) watch(address string, n int) []string {
	args := []string{"sync", "--watch", "--kubeconfig", h.kubeconfig, "-n", h.namespace, "--dial=direct", "--listen", address, "--pprof"}
	if h.options.daemons > 1 {
		args = append(args, fmt.Sprintf("--shard=%d/%d", n, h.options.daemons))
	}
	return args
}

func (h *bench) stopDaemons() {
	for _, d := range h.daemons {
		_ = d.Process.Signal(syscall.SIGTERM)
	}
	for _, d := range h.daemons {
		_ = d.Wait()
	}
}

func (h *bench) name(n int) string { return fmt.Sprintf("many%04d", n) }

// create makes the clusters and waits until the daemon has made what they consist
// of, and has released all of them.
func (h *bench) create(ctx context.Context, r *result) error {
	begun := time.Now()
	var all errgroup.Group
	all.SetLimit(creators)
	for n := range h.clusters {
		all.Go(func() error {
			_, err := h.dyn.Resource(intent.Resource).Namespace(h.namespace).Create(ctx, h.cluster(n), metav1.CreateOptions{})
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	if err := h.settle(ctx, time.Hour); err != nil {
		return err
	}
	r.creation = time.Since(begun)
	return nil
}

// cluster returns a TidbCluster whose pods no scheduler binds and whose volumes no provisioner
// creates.
func (h *bench) cluster(n int) *unstructured.Unstructured {
	part := func(image string, replicas int64, more map[string]any) map[string]any {
		spec := map[string]any{"baseImage": image, "replicas": replicas, "config": map[string]any{}}
		for k, v := range more {
			spec[k] = v
		}
		return spec
	}
	stored := map[string]any{"requests": map[string]any{"storage": "1Gi"}, "storageClassName": "none"}
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "pingcap.com/v1alpha1", "kind": "TidbCluster",
		"metadata": map[string]any{"name": h.name(n), "namespace": h.namespace},
		"spec": map[string]any{
			"version": version, "schedulerName": "nobody",
			"pd": part("pingcap/pd", int64(h.pd), stored), "tikv": part("pingcap/tikv", int64(h.tikv), stored),
			"tidb": part("pingcap/tidb", int64(h.tidb), nil),
		},
	}}
	return u
}

// settle waits until all clusters are as wanted and no lease is held.
func (h *bench) settle(ctx context.Context, most time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, most, errors.New("the clusters do not settle"))
	defer cancel()
	for reported := time.Now(); ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second):
		}
		converged, held := 0.0, 0.0
		for _, d := range h.daemons {
			s, err := d.scrape(ctx)
			if err != nil {
				held++ // it has not begun to listen
				continue
			}
			converged += s.sum("kubectl_tidb_cluster_state", labels.Set{"state": "converged"})
			held += s.sum("kubectl_tidb_lease_held", nil)
		}
		if int(converged) >= h.clusters && held == 0 {
			return nil
		}
		if time.Since(reported) > 15*time.Second {
			reported = time.Now()
			fmt.Fprintf(os.Stderr, "%.0f of %d clusters are as wanted, %.0f are driven\n", converged, h.clusters, held)
		}
	}
}
