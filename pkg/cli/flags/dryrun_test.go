package flags

import (
	"io"
	"testing"

	"github.com/spf13/cobra"
)

func TestDryRun(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want DryRun
		ok   bool
	}{
		{nil, NoDryRun, true},
		{[]string{"--dry-run"}, ServerDryRun, true},
		{[]string{"--dry-run=server"}, ServerDryRun, true},
		{[]string{"--dry-run=client"}, ClientDryRun, true},
		{[]string{"--dry-run=none"}, NoDryRun, true},
		{[]string{"--dry-run=true"}, NoDryRun, false},
		{[]string{"--dry-run=all"}, NoDryRun, false},
	} {
		var o Options
		cmd := &cobra.Command{RunE: func(*cobra.Command, []string) error { return nil }, SilenceErrors: true, SilenceUsage: true}
		cmd.SetOut(io.Discard)
		o.Bind(cmd)
		cmd.SetArgs(append([]string{}, tc.args...))
		if err := cmd.Execute(); (err == nil) != tc.ok || o.DryRun != tc.want {
			t.Errorf("%v: %s, %v; want %s", tc.args, &o.DryRun, err, &tc.want)
		}
	}
}
