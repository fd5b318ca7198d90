package flags

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
)

func TestEvictionFlags(t *testing.T) {
	for _, c := range []struct {
		args string
		want plan.Eviction
		says string
	}{
		{"", plan.Eviction{}, ""},
		{"--evict-timeout 90s", plan.Eviction{Timeout: 90 * time.Second}, ""},
		{"--evict-timeout=10m --on-evict-timeout=fail", plan.Eviction{Timeout: 10 * time.Minute, OnTimeout: plan.Fail}, ""},
		{"--evict-timeout 1h --on-evict-timeout proceed", plan.Eviction{Timeout: time.Hour, OnTimeout: plan.Proceed}, ""},
		{"--on-evict-timeout=wait", plan.Eviction{OnTimeout: plan.Persist}, ""},
		{"--on-evict-timeout=wait --evict-timeout=1h", plan.Eviction{}, "does not go with --evict-timeout"},
		{"--max-leader-moves=2", plan.Eviction{MaxMoves: 2}, ""},
		{"--max-leader-moves=0", plan.Eviction{}, "from 1 on"},
		{"--max-leader-moves=-1", plan.Eviction{}, "from 1 on"},
		{"--max-leader-moves=few", plan.Eviction{}, "from 1 on"},
		{"--max-leader-moves=2 --wait=false", plan.Eviction{}, "--max-leader-moves"},
		{"--evict-timeout=0", plan.Eviction{}, "above zero"},
		{"--evict-timeout=-5m", plan.Eviction{}, "above zero"},
		{"--evict-timeout=10", plan.Eviction{}, "such as 90s or 10m"},
		{"--evict-timeout=soon", plan.Eviction{}, "such as 90s or 10m"},
		{"--on-evict-timeout=", plan.Eviction{}, "one of proceed, fail, wait"},
		{"--on-evict-timeout=abort", plan.Eviction{}, "one of proceed, fail, wait"},
	} {
		var o Options
		cmd := &cobra.Command{RunE: func(*cobra.Command, []string) error { return o.Validate() }, SilenceErrors: true, SilenceUsage: true}
		cmd.SetOut(io.Discard)
		o.Bind(cmd)
		o.BindEviction(cmd)
		cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exit.With(exit.Usage, err) })
		cmd.SetArgs(strings.Fields(c.args))
		switch err := cmd.Execute(); {
		case c.says != "":
			if exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: exit code %d, error %v, want %q", c.args, exit.Of(err), err, c.says)
			}
		case err != nil || o.Eviction != c.want:
			t.Errorf("%s: %+v, %v", c.args, o.Eviction, err)
		}
	}
}
