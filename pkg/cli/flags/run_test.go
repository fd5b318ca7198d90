package flags

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// bound parses a command line of a verb with all flags.
func bound(t *testing.T, args string) *Options {
	t.Helper()
	var o Options
	cmd := &cobra.Command{SilenceErrors: true, SilenceUsage: true}
	cmd.SetOut(io.Discard)
	for _, bind := range []func(*cobra.Command){o.Bind, o.BindEviction, o.BindStop, o.BindCanary, o.BindFieldManager} {
		bind(cmd)
	}
	if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	return &o
}

func TestTogether(t *testing.T) {
	const left = "--wait=false leaves the cluster to another process, so it does not go with --take-over, --no-follow, " +
		"--evict-timeout, --on-evict-timeout, --max-leader-moves and --stop-changefeeds"
	for args, want := range map[string]string{
		"":                                           "",
		"--exit-code":                                "--exit-code goes with --dry-run",
		"--exit-code --dry-run=none":                 "--exit-code goes with --dry-run",
		"--exit-code --dry-run":                      "",
		"--exit-code=false":                          "",
		"--timeout=-1s":                              "--timeout must not be negative",
		"--wait=false":                               "",
		"--wait=false --take-over":                   left,
		"--wait=false --take-over=false":             "",
		"--wait=false --no-follow":                   left,
		"--wait=false --evict-timeout=1m":            left,
		"--wait=false --stop-changefeeds":            left,
		"--wait=false --canary=tikv=1":               "",
		"--take-over --no-follow":                    "",
		"--on-evict-timeout=wait --evict-timeout=1h": "--on-evict-timeout=wait waits for ever, so it does not go with --evict-timeout",
		"--on-evict-timeout=fail --evict-timeout=1h": "",
	} {
		got := ""
		if err := bound(t, args).Validate(); err != nil {
			if got = err.Error(); exit.Of(err) != exit.Usage {
				t.Errorf("%s: exit code %d, want %d", args, exit.Of(err), exit.Usage)
			}
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
}

// TestDaemon: a daemon accepts a flag of a run only where the table says so.
func TestDaemon(t *testing.T) {
	for args, accepted := range map[string]bool{
		"":                     true,
		"-o json":              true,
		"--take-over":          true,
		"--evict-timeout=1m":   true,
		"--max-leader-moves=2": true,
		"--timeout=1h":         false,
		"--dry-run":            false,
		"--wait=false":         false,
		"--report=junit=x":     false,
		"--canary=tikv=1":      false,
		"--yes":                false,
	} {
		err := bound(t, args).ValidateDaemon()
		if (err == nil) != accepted {
			t.Errorf("%s: got %v, want accepted: %t", args, err, accepted)
		}
	}
}

func TestStay(t *testing.T) {
	if err := bound(t, "--take-over --no-follow").Stay("sync"); err != nil {
		t.Errorf("refused without --wait=false: %v", err)
	}
	if err := bound(t, "--wait=false").Stay("sync"); exit.Of(err) != exit.Usage {
		t.Errorf("got %v, want exit code %d with --wait=false", err, exit.Usage)
	}
}
