//go:build linux

// Package lab tests hosts of the node, and what breaks them, on a node of its own.
package lab

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var state = flag.String("state", "", "a state folder for a node of several hosts, which is started and ended")

// patience bounds each wait. Kubernetes takes 50 seconds to notice that a host is gone.
const patience = 2 * time.Minute

// lab is a node as its users have it: by its commands, and by kubectl.
type lab struct {
	program string
	state   string
	network string
}

// newLab names a node that is taken down in the end.
func newLab(t *testing.T, program, state, network string) lab {
	t.Helper()
	l := lab{program, state, network}
	t.Cleanup(func() {
		l.must(t, "down")
		_ = os.Remove(filepath.Dir(state)) // Stays when something else is in it.
	})
	return l
}

func compile(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "node")
	command := exec.Command("go", "build", "-o", program, ".")
	command.Dir = ".."
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("compile the node's program: %v\n%s", err, out)
	}
	return program
}

// node runs a command of the node.
func (l lab) node(arguments ...string) (string, error) {
	command := exec.Command(l.program, arguments...)
	command.Dir = ".."
	command.Env = append(os.Environ(), "NODE_STATE="+l.state, "NODE_NETWORK="+l.network)
	out, err := command.CombinedOutput()
	return string(out), err
}

func (l lab) must(t *testing.T, arguments ...string) string {
	t.Helper()
	started := time.Now()
	out, err := l.node(arguments...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
	t.Logf("%s: %.1fs", strings.Join(arguments, " "), time.Since(started).Seconds())
	return out
}

// refused checks that a command fails, and that it says what is expected.
func (l lab) refused(t *testing.T, says string, arguments ...string) {
	t.Helper()
	if out, err := l.node(arguments...); err == nil || !strings.Contains(out, says) {
		t.Errorf("%s: %v; it does not say %q:\n%s", strings.Join(arguments, " "), err, says, out)
	}
}

func (l lab) tryKubectl(stdin string, arguments ...string) (string, error) {
	return l.kubectlWithin(patience, stdin, arguments...)
}

func (l lab) kubectlWithin(limit time.Duration, stdin string, arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	kubectl := filepath.Join(l.state, "bin", "kubectl")
	command := exec.CommandContext(ctx, kubectl, append([]string{"--kubeconfig", filepath.Join(l.state, "kubeconfig")}, arguments...)...)
	command.Stdin = strings.NewReader(stdin)
	out, err := command.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (l lab) kubectl(t *testing.T, arguments ...string) string {
	t.Helper()
	return l.apply(t, "", arguments...)
}

func (l lab) apply(t *testing.T, stdin string, arguments ...string) string {
	t.Helper()
	out, err := l.tryKubectl(stdin, arguments...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
	return out
}

// get reads one field of an object.
func (l lab) get(t *testing.T, object, path string) string {
	t.Helper()
	return l.kubectl(t, "get", object, "-o", "jsonpath={"+path+"}")
}

// eventually repeats a check until it holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	started := time.Now()
	for tick := time.NewTicker(200 * time.Millisecond); !holds(); <-tick.C {
		if time.Since(started) > patience {
			t.Fatalf("%s did not happen within %s", what, patience)
		}
	}
	t.Logf("%s after %.1fs", what, time.Since(started).Seconds())
}
