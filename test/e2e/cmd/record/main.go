// Command record shows a real upgrade on the local node as an animated picture: it makes a cluster,
// records the terminal while the plugin upgrades it, and has svg-term-cli of npm draw that.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/node"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/plugin"
)

const (
	namespace = "recording"
	cluster   = "basic"
	painter   = "svg-term-cli@2.1.1"
)

// recorded is what one sees in the picture.
const recorded = `
prompt() { printf '\033[32m$\033[0m %s\n' "$*"; sleep 1; "$@"; }
stty cols 96 rows 24
prompt kubectl tidb upgrade basic v8.1.1 --yes
sleep 2
prompt kubectl tidb status basic
sleep 4`

func main() {
	out := flag.String("o", "upgrade.svg", "the picture")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *out); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string) (err error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	n, err := node.Up(ctx, root, os.Stderr)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "record")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := inNamespace(n.Kubeconfig, kubeconfig); err != nil {
		return err
	}
	if err := prepare(ctx, n, plugin.Plugin{Binary: filepath.Join(root, "bin", "kubectl-tidb"), Kubeconfig: kubeconfig, Namespace: namespace}); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, n.Kube.CoreV1().Namespaces().Delete(context.WithoutCancel(ctx), namespace, metav1.DeleteOptions{}))
	}()
	tape := tape{text: filepath.Join(dir, "text"), times: filepath.Join(dir, "times")}
	err = show(ctx, append(os.Environ(), "KUBECONFIG="+kubeconfig, "TERM=xterm-256color", "SHELL=/bin/bash",
		"PATH="+filepath.Join(root, "bin")+":"+filepath.Join(filepath.Dir(n.Kubeconfig), "bin")+":"+os.Getenv("PATH")),
		"script", "--quiet", "--return", "--log-out", tape.text, "--log-timing", tape.times, "--command", recorded)
	if err != nil {
		return fmt.Errorf("record the terminal: %w", err)
	}
	cast := filepath.Join(dir, "cast")
	if err := tape.cast(cast); err != nil {
		return err
	}
	if err := show(ctx, nil, "npx", "--yes", painter, "--in", cast, "--out", out, "--window", "--no-cursor"); err != nil {
		return fmt.Errorf("draw the picture: %w", err)
	}
	return nil
}

// show runs a program with the terminal that this one has.
func show(ctx context.Context, env []string, program string, args ...string) error {
	c := exec.CommandContext(ctx, program, args...)
	c.Env, c.Stdin, c.Stdout, c.Stderr = env, os.Stdin, os.Stdout, os.Stderr
	return c.Run()
}

// prepare makes the cluster that is upgraded.
func prepare(ctx context.Context, n *node.Node, p plugin.Plugin) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := n.Kube.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	for _, args := range [][]string{{"init"}, {"create", cluster, "--version", "v8.1.0", "--storage", "1Gi"}} {
		if r := p.Run(ctx, nil, args...); r.Code != 0 {
			return fmt.Errorf("kubectl tidb %s: %s", args[0], r.Stderr)
		}
	}
	return nil
}

// inNamespace copies a kubeconfig whose context has the namespace, so that the commands in the
// picture need no flags.
func inNamespace(from, to string) error {
	config, err := clientcmd.LoadFromFile(from)
	if err != nil {
		return err
	}
	config.Contexts[config.CurrentContext].Namespace = namespace
	return clientcmd.WriteToFile(*config, to)
}
