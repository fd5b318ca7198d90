package sync

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
)

func TestArguments(t *testing.T) {
	f := factory.New(genericiooptions.NewTestIOStreamsDiscard(), func(string) string { return "" }, "")
	for _, c := range []struct {
		args string
		name []string
		says string
	}{
		{"", nil, ""},
		{"basic", []string{"basic"}, ""},
		{"basic --dry-run --exit-code", []string{"basic"}, ""},
		{"basic other", nil, "accepts at most 1"},
		{"basic --exit-code", nil, "--dry-run"},
		{"--watch", nil, ""},
		{"basic --watch", []string{"basic"}, ""},
		{"--watch -A -l env=prod,tier!=test --workers 4 --poll 30s --resync 1h --listen :8080 --pprof --log-format json", nil, ""},
		{"--watch --auto-failover=false --evict-timeout 5m -o json", nil, ""},
		{"basic --watch -A", nil, "does not go with --all-namespaces"},
		{"basic --watch -l env=prod", nil, "does not go with --selector"},
		{"--watch --dry-run", nil, "--dry-run does not go with --watch"},
		{"--watch --timeout 1h", nil, "--timeout does not go with --watch"},
		{"--watch --no-follow", nil, "--no-follow does not go with --watch"},
		{"basic --wait=false", nil, "so it does not go with --wait=false"},
		{"--watch --wait=false", nil, "--wait does not go with --watch"},
		{"-A", nil, "--all-namespaces goes with --watch"},
		{"basic --listen :8080", nil, "--listen goes with --watch"},
		{"basic --workers 4", nil, "--workers goes with --watch"},
		{"--watch --pprof", nil, "--pprof goes with --listen"},
		{"--watch -l env=prod=eu", nil, "--selector \"env=prod=eu\""},
		{"--watch --workers 0", nil, "at least 1"},
		{"--watch --poll 1s", nil, "--poll has to be at least 5s"},
		{"--watch --resync 1s", nil, "--resync has to be at least 1m"},
		{"--watch --log-format xml", nil, "text, json"},
	} {
		var got *options
		cmd := command(f, func(_ context.Context, o options) error { got = &o; return nil })
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetOut(io.Discard)
		cmd.SetArgs(strings.Fields(c.args))
		err := cmd.Execute()
		switch {
		case c.says != "":
			if err == nil || !strings.Contains(err.Error(), c.says) || got != nil {
				t.Errorf("%s: error %v, want %q", c.args, err, c.says)
			}
		case err != nil:
			t.Errorf("%s: %v", c.args, err)
		case !slices.Equal(got.name, c.name):
			t.Errorf("%s: %+v", c.args, got)
		}
	}
}
