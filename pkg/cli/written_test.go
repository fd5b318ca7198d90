package cli

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// full is a disk without room.
type full struct{ err error }

func (f full) Write([]byte) (int, error) { return 0, f.err }

// TestOutputThatIsNotWritten: a command whose output cannot be written ends with 1 and says so. A reader that has gone
// is no failure.
func TestOutputThatIsNotWritten(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	server := serve(t, discovery(map[string]any{tidbclusters: clusterList(tidbcluster("basic"))}))
	for _, line := range []string{
		"", "help", "help upgrade", "upgrade --help", "options", "version --client", "completion bash", "auth role list", "daemon manifest --image kubectl-tidb:test",
		"list", "list -o json", "list -o name",
	} {
		for err, want := range map[error]int{syscall.ENOSPC: 1, syscall.EIO: 1, nil: 0} {
			var errOut bytes.Buffer
			streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: full{err}, ErrOut: &errOut}
			if err == nil {
				streams.Out = io.Discard
			}
			code := run(context.Background(), append([]string{"--server", server.URL}, strings.Fields(line)...), streams, func(string) string { return "" })
			if code != want || err != nil && !strings.Contains(errOut.String(), err.Error()) {
				t.Errorf("%q, %v: exit code %d, want %d; %s", line, err, code, want, errOut.String())
			}
		}
	}
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: full{syscall.EPIPE}, ErrOut: io.Discard}
	if code := run(context.Background(), []string{"help"}, streams, func(string) string { return "" }); code != 0 {
		t.Errorf("a reader that has gone: exit code %d", code)
	}
}

// TestRawLogs: the bytes of a log stay as they are for a file or a pipe, and with --raw. In a CI system they are
// cleaned.
func TestRawLogs(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	server := evilAPI(t, true)
	for _, c := range []struct {
		flag, ci string
		raw      bool
	}{{"--raw=false", "", true}, {"--raw", "true", true}, {"--raw=false", "true", false}} {
		var out bytes.Buffer
		streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: io.Discard}
		args := []string{"--server", server.URL, "logs", "basic", "tikv-0", c.flag}
		code := run(context.Background(), args, streams, func(name string) string { return map[string]string{"CI": c.ci}[name] })
		if raw := out.String() == hostile+"\x9b\xff\n"; code != 0 || raw != c.raw || !strings.Contains(out.String(), "EVIL") {
			t.Errorf("%+v: exit code %d, %q", c, code, out.String())
		}
	}
}
