// Command record shows real runs of verbs on the local node as pictures, most of them animated: it
// makes a cluster, records the terminal while the plugin works on it, and has svg-term-cli of npm draw
// that. With names of sessions it records only those.
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
	"slices"
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

// largest is how many bytes a picture may have: it is loaded with the page that shows it.
const largest = 150 << 10

// prompt shows a command as if it were typed, and runs it.
const prompt = `prompt() { printf '\033[32m$\033[0m %s\n' "$*"; sleep 1; "$@"; }
`

func main() {
	out := flag.String("o", ".", "the folder of the pictures")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	all, err := named(flag.Args())
	if err == nil {
		err = run(ctx, *out, all)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// named returns the sessions with these names, all of them for none.
func named(names []string) ([]session, error) {
	if len(names) == 0 {
		return sessions, nil
	}
	var some []session
	for _, name := range names {
		i := slices.IndexFunc(sessions, func(s session) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no session %s", name)
		}
		some = append(some, sessions[i])
	}
	return some, nil
}

func run(ctx context.Context, out string, all []session) (err error) {
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
	defer func() {
		err = errors.Join(err, n.Kube.CoreV1().Namespaces().Delete(context.WithoutCancel(ctx), namespace, metav1.DeleteOptions{}))
	}()
	if err := prepare(ctx, n, plugin.Plugin{Binary: filepath.Join(root, "bin", "kubectl-tidb"), Kubeconfig: kubeconfig, Namespace: namespace}); err != nil {
		return err
	}
	t := terminal{dir: dir, env: append(os.Environ(), "KUBECONFIG="+kubeconfig, "TERM=xterm-256color", "SHELL=/bin/bash",
		"PATH="+filepath.Join(root, "bin")+":"+filepath.Join(filepath.Dir(n.Kubeconfig), "bin")+":"+os.Getenv("PATH"))}
	for _, s := range all {
		if err := t.record(ctx, s, filepath.Join(out, s.name+".svg")); err != nil {
			return fmt.Errorf("session %s: %w", s.name, err)
		}
	}
	return nil
}

// terminal is where sessions are recorded.
type terminal struct {
	dir string // for what is not kept
	env []string
}

// record brings the cluster to the state that a session shows, records it and draws the picture.
func (t terminal) record(ctx context.Context, s session, out string) error {
	if err := t.show(ctx, "bash", "-ec", s.before); err != nil {
		return fmt.Errorf("prepare the cluster: %w", err)
	}
	tape := tape{text: filepath.Join(t.dir, "text"), times: filepath.Join(t.dir, "times"), columns: s.columns, rows: s.rows}
	script := fmt.Sprintf("%sstty cols %d rows %d%s", prompt, s.columns, s.rows, s.shown)
	if err := t.show(ctx, "script", "--quiet", "--return", "--log-out", tape.text, "--log-timing", tape.times, "--command", script); err != nil {
		return fmt.Errorf("record the terminal: %w", err)
	}
	cast := filepath.Join(t.dir, "cast")
	if err := tape.cast(cast); err != nil {
		return err
	}
	picture, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	if err := t.show(ctx, "npx", "--yes", painter, "--in", cast, "--out", picture, "--window", "--no-cursor"); err != nil {
		return fmt.Errorf("draw the picture: %w", err)
	}
	drawn, err := os.Stat(picture)
	if err == nil && drawn.Size() > largest {
		err = fmt.Errorf("%s has %d bytes, and may have %d", out, drawn.Size(), largest)
	}
	return err
}

// show runs a program with the terminal that this one has.
func (t terminal) show(ctx context.Context, program string, args ...string) error {
	c := exec.CommandContext(ctx, program, args...)
	c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr = t.dir, t.env, os.Stdin, os.Stdout, os.Stderr
	return c.Run()
}

// prepare makes the cluster.
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
