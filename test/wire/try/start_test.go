package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	m.Run()
}

// printed is what a model has printed. It is closed to readers until the commands to paste are there.
type printed struct {
	mu    sync.Mutex
	text  bytes.Buffer
	first chan struct{}
	once  sync.Once
}

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.once.Do(func() { close(p.first) })
	return p.text.Write(b)
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// started runs a model until the test ends, as fast as it can, and returns its folder and what it prints.
func started(t *testing.T) (folder string, out *printed) {
	t.Helper()
	folder, out = t.TempDir(), &printed{first: make(chan struct{})}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- start(ctx, folder, fast, out) }()
	t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			t.Errorf("the model has ended with %v", err)
		}
	})
	select {
	case <-out.first:
	case err := <-ended:
		ended <- err
		t.Fatal("the model has not started")
	}
	return folder, out
}

// fast is the speed of models in tests. With more the plugin's own pauses are most of the time.
const fast = 10

// tidb runs a command of the plugin with the kubeconfig of a model, and returns its exit code and what it has printed.
func tidb(t *testing.T, folder string, args ...string) (int, string) {
	t.Helper()
	ctx, end := context.WithTimeout(t.Context(), 3*time.Minute) // of the clock; nothing waits so long
	defer end()
	var out bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}
	args = append(args, "--kubeconfig", kubeconfigIn(folder), "--cache-dir", filepath.Join(folder, "cache"))
	code := cli.Over(ctx, nil, args, streams, func(string) string { return "" })
	return code, out.String()
}

// must runs a command of the plugin, and fails the test where it does not end with an exit code or does not say
// something.
func must(t *testing.T, folder string, want int, says string, args ...string) {
	t.Helper()
	if code, text := tidb(t, folder, args...); code != want || !strings.Contains(text, says) {
		t.Fatalf("kubectl tidb %v: exit code %d, want %d and %q\n%s", args, code, want, says, text)
	}
}

// tried sends a request of command try.
func tried(t *testing.T, folder string, words ...string) {
	t.Helper()
	if _, err := asked(t.Context(), folder, words); err != nil {
		t.Fatalf("try %v: %v", words, err)
	}
}

// canaryWaits is the exit code of a rollout that has stopped at its canary.
const canaryWaits = 6

// TestCommandsToPaste: each command that the model prints can be pasted, in the order in which they are printed, and
// each thing that can be broken is named by the plugin.
func TestCommandsToPaste(t *testing.T) {
	folder, out := started(t)
	for _, c := range ordinary(folder) {
		if !strings.Contains(out.String(), c.line) {
			t.Errorf("%q is not printed", c.line)
		}
		words := strings.Fields(c.line)
		want := 0
		if strings.Contains(c.line, "--canary") {
			want = canaryWaits
		}
		must(t, folder, want, "", words[1:]...)
	}
	for _, d := range drills {
		t.Run(d.fault, func(t *testing.T) {
			tried(t, folder, "break", d.fault)
			if d.after != "" {
				tried(t, folder, "pass", d.after)
			}
			must(t, folder, d.code, d.says, d.args...)
			tried(t, folder, "mend", d.fault)
			tried(t, folder, "pass", "1m")
			must(t, folder, 0, "converged", "sync", "basic", "--yes")
		})
	}
}

// drills are what is broken, and what the plugin says then.
var drills = []struct {
	fault, after string
	args         []string
	code         int
	says         string
}{
	{"leader", "", status, 0, "cannot be reached from here"},
	{"tunnel", "", status, 0, "No agent available"},
	{"webhook", "", []string{"upgrade", "basic", "v8.1.2", "--yes"}, 3, "denied the request: change freeze"},
	{"disk", "1m", status, 0, "container tikv crashes again and again"},
	{"host-1", "1m", status, 0, "node node-1 does not report"}, // the other hosts are like this one
}

var status = []string{"status", "basic"}

// TestDrills: nothing can be broken of which no test sees that the plugin names it.
func TestDrills(t *testing.T) {
	named := map[string]bool{}
	for _, d := range drills {
		kind, _, _ := strings.Cut(d.fault, "-")
		named[kind] = true
	}
	for _, f := range faults {
		if kind, _, _ := strings.Cut(f.name, "-"); !named[kind] {
			t.Errorf("no drill breaks %s", f.name)
		}
	}
}

// TestRefused: the model says what it does not have, and takes requests only from who can read its kubeconfig.
func TestRefused(t *testing.T) {
	folder, out := started(t)
	if !strings.Contains(out.String(), "MODEL") || !strings.Contains(out.String(), "holds no rows") {
		t.Errorf("it is not said that this is a model:\n%s", out)
	}
	must(t, folder, 1, "a model with one cluster", "create", "other", "--version", "v8.1.0", "--yes")
	must(t, folder, 1, "a model of PD, TiKV and TiDB", "create", "basic", "--version", "v8.1.0", "--tiflash", "1", "--yes")
	must(t, folder, 1, "init is not needed", "init")
	for _, words := range [][]string{{"mend"}, {"mend", "disk"}, {"break", "disk"}, {"break", "nothing"}, {"pass", "-1h"}, {"pass", "99h"}, {"wait"}} {
		if said, err := asked(t.Context(), folder, words); err == nil {
			t.Errorf("try %v is not refused: %s", words, said)
		}
	}
	if err := start(t.Context(), folder, 1, out); err == nil || !strings.Contains(err.Error(), "runs already") {
		t.Errorf("a second model has replaced the first one: %v", err)
	}
	config := configIn(t, folder)
	config.BearerToken = "other"
	if _, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerVersion(); err == nil {
		t.Error("another token is accepted")
	}
	if is, err := os.Stat(kubeconfigIn(folder)); err != nil || runtime.GOOS != "windows" && is.Mode().Perm() != 0o600 {
		t.Errorf("the kubeconfig has the mode %v, %v", is.Mode(), err)
	}
}

// TestDiscovery: kubectl finds the kinds that there are, by their short names as well.
func TestDiscovery(t *testing.T) {
	folder, _ := started(t)
	_, all, err := discovery.NewDiscoveryClientForConfigOrDie(configIn(t, folder)).ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, list := range all {
		for _, r := range list.APIResources {
			for _, short := range append(r.ShortNames, r.Name) {
				found[short] = true
			}
		}
	}
	for _, want := range []string{"pods", "sts", "pvc", "tc", "nodes"} {
		if !found[want] {
			t.Errorf("%s are not found", want)
		}
	}
}

func configIn(t *testing.T, folder string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfigIn(folder))
	if err != nil {
		t.Fatal(err)
	}
	return config
}
