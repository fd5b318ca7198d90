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
