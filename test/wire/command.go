package wire

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli"
)

// Result is how a command has ended.
type Result struct {
	Code     int
	Out, Err string
}

// Command runs a command to its end, while the script waits.
func (w *World) Command(ctx context.Context, args ...string) Result {
	w.leave()
	defer w.hold()
	return w.run(ctx, w.network.DialContext, args...)
}

// run runs a command that connects with dial.
func (w *World) run(ctx context.Context, dial func(ctx context.Context, network, address string) (net.Conn, error), args ...string) Result {
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
	args = slices.Concat(args, []string{
		"--kubeconfig", w.kubeconfig, "--cache-dir", filepath.Join(filepath.Dir(w.kubeconfig), "cache"), "--namespace", "db", "--dial", "direct",
	})
	code := cli.Over(ctx, dial, args, streams, func(string) string { return "" })
	return Result{code, out.String(), errOut.String()}
}

// Must runs a command, and fails the test where the command does not end with an exit code.
func (w *World) Must(t *testing.T, code int, args ...string) Result {
	t.Helper()
	r := w.Command(t.Context(), args...)
	if r.Code != code {
		t.Fatalf("kubectl tidb %v: exit code %d, want %d\n%s\n%s", args, r.Code, code, r.Out, r.Err)
	}
	return r
}

// wantUnbroken fails the test where a rule of safety was broken. A request that no member of the world knows fails
// the test too.
func (w *World) wantUnbroken(t *testing.T) {
	t.Helper()
	for _, v := range w.Model.Broken {
		t.Error(v)
	}
	for _, request := range w.members.Unserved() {
		t.Errorf("no member answers %s", request)
	}
}
