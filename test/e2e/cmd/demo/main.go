// Command demo shows the plugin at work on the local node: a cluster is created,
// rows are written, TiKV is scaled out and in, and the cluster is upgraded while
// rows go on being written; in the end they are read back. With -full the cluster
// has all components, and TLS.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/node"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/plugin"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/workload"
)

const (
	namespace = "demo"
	cluster   = "basic"
)

// story is what a demonstration shows: how the cluster is made, and what is done while a client writes.
type story struct {
	create []string
	then   [][]string
	tls    bool
	// parts of the node are what it needs.
	parts string
}

var short = story{
	create: []string{"--pd", "3", "--tikv", "3", "--tidb", "2"},
	then: [][]string{
		{"scale", cluster, "tikv=4"},
		{"scale", cluster, "tikv=3"},
		{"upgrade", cluster, "v8.1.1"},
		{"status", cluster},
	},
	parts: "demo",
}

// full has every component that create makes. Of TiFlash, TiProxy and TiCDC the node has stand-ins.
var full = story{
	create: []string{"--pd", "3", "--tikv", "3", "--tidb", "2", "--tiflash", "2", "--tiproxy", "1", "--tiproxy-version", "v1.0.0", "--ticdc", "1", "--tls"},
	then: [][]string{
		{"scale", cluster, "tikv=4", "ticdc=2"},
		{"scale", cluster, "tikv=3", "tiflash=1"},
		{"upgrade", cluster, "v8.1.1", "--tiproxy-version", "v1.1.0"},
		{"tls", "check", cluster},
		{"status", cluster},
	},
	tls:   true,
	parts: "all",
}

func main() {
	all := flag.Bool("full", false, "all components, and TLS")
	flag.Parse()
	told := short
	if *all {
		told = full
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, told); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// demo is the environment of the demonstration.
type demo struct {
	node   *node.Node
	plugin plugin.Plugin
	sql    workload.Service
}

func run(ctx context.Context, told story) error {
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	say("a Kubernetes node")
	n, err := node.Up(ctx, root, os.Stderr, "-parts", told.parts)
	if err != nil {
		return err
	}
	pods, err := dial.NewPods(n.Config)
	if err != nil {
		return err
	}
	defer pods.Close()
	d := demo{
		node:   n,
		plugin: plugin.Plugin{Binary: filepath.Join(root, "bin", "kubectl-tidb"), Kubeconfig: n.Kubeconfig, Namespace: namespace},
		sql:    workload.Service{Kube: n.Kube, Pods: pods, Namespace: namespace, Cluster: cluster, TLS: told.tls},
	}
	if err := d.play(ctx, told); err != nil {
		return err
	}
	say("done; look around with: export KUBECONFIG=" + n.Kubeconfig)
	fmt.Printf("  %s -n %s status %s\n", d.plugin.Binary, namespace, cluster)
	return nil
}

func (d demo) play(ctx context.Context, told story) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := d.node.Kube.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if err := d.tidb(ctx, "init"); err != nil {
		return err
	}
	if d.plugin.Run(ctx, nil, "status", cluster).Code == 0 {
		say("a cluster of an earlier demo goes first")
		if err := d.tidb(ctx, "delete", cluster, "--delete-pvcs", "--yes"); err != nil {
			return err
		}
	}
	if err := d.tidb(ctx, append([]string{"create", cluster, "--version", "v8.1.0", "--storage", "1Gi"}, told.create...)...); err != nil {
		return err
	}
	db, err := d.sql.Open("demo")
	if err != nil {
		return err
	}
	defer db.Close()
	say("a client writes a row every 50 ms from here on")
	writer, err := workload.Start(ctx, db, "demo", 50*time.Millisecond)
	if err != nil {
		return err
	}
	for _, args := range told.then {
		if err := d.tidb(ctx, args...); err != nil {
			return err
		}
	}
	account := writer.Stop()
	say("the client's account: " + account.String())
	if err := account.Verify(ctx, db, "demo"); err != nil {
		return err
	}
	say("every row is there")
	return nil
}

// tidb runs the plugin with the terminal that the demo has.
func (d demo) tidb(ctx context.Context, args ...string) error {
	fmt.Printf("\n\x1b[1m$ kubectl tidb")
	for _, a := range args {
		fmt.Print(" ", a)
	}
	fmt.Println("\x1b[0m")
	cmd := d.plugin.Command(ctx, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	// Ctrl-C reaches the plugin by the terminal; it wants to stop by itself.
	cmd.Cancel = func() error { return nil }
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("kubectl tidb %s: %w", args[0], err)
	}
	return nil
}

func say(text string) { fmt.Printf("\n\x1b[1m# %s\x1b[0m\n", text) }
