package scale

import (
	"context"
	"io"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		args string
		want map[topology.Kind]int32
		says string
	}{
		{args: "basic tikv=4", want: map[topology.Kind]int32{topology.TiKV: 4}},
		{args: "basic pd=5 tidb=0 --timeout 5m --dry-run --exit-code -o json --no-follow", want: map[topology.Kind]int32{topology.PD: 5, topology.TiDB: 0}},
		{args: "", says: "requires at least 2"},
		{args: "basic", says: "requires at least 2"},
		{args: "basic tikv", says: "not COMPONENT=N"},
		{args: "basic tikv=", says: "not a number"},
		{args: "basic tikv=many", says: "not a number"},
		{args: "basic tikv=-1", says: "zero or more"},
		{args: "basic tikv=9999999999", says: "not a number"},
		{args: "basic tikv=4 tikv=5", says: "tikv is given twice"},
		{args: "basic cdc=1", says: `no component "cdc"; there are pd, tso, scheduling, tikv, tiflash, pump, tidb, tiproxy, ticdc`},
		{args: "basic tikv=4 --exit-code", says: "--exit-code goes with --dry-run"},
		{args: "basic tikv=4 --timeout -1s", says: "negative"},
		{args: "basic --cancel"},
		{args: "basic tikv=3 --cancel", says: "does not go with tikv=3"},
		{args: "basic tikv=3 --remove tikv-3", want: map[topology.Kind]int32{topology.TiKV: 3}},
		{args: "basic tikv=3 --remove tidb-3", says: "such as tidb=3"},
		{args: "basic --cancel --remove tikv-3", says: "does not go with --remove"},
		{args: "--cancel", says: "accepts 1 arg"},
	} {
		t.Run(c.args, func(t *testing.T) {
			var got *options
			cmd := command(nil, func(_ context.Context, o options) error { got = &o; return nil })
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			cmd.SetOut(io.Discard)
			cmd.SetArgs(strings.Fields(c.args))
			err := cmd.Execute()
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) || got != nil {
					t.Errorf("error %v, want %q", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(got.replicas, c.want) || got.name[0] != "basic" {
				t.Errorf("%+v, want %v", got, c.want)
			}
			if got.DryRun != flags.NoDryRun && (got.Timeout != 5*time.Minute || !got.ExitCode || !got.NoFollow || !got.Output.JSON()) {
				t.Errorf("flags are lost: %+v", got)
			}
		})
	}
}

func TestComplete(t *testing.T) {
	got, _ := complete(nil)(nil, []string{"basic", "tikv=4"}, "")
	if strings.Join(got, " ") != "pd= tso= scheduling= tiflash= pump= tidb= tiproxy= ticdc=" {
		t.Errorf("%v", got)
	}
	cmd := command(nil, nil)
	if err := cmd.ParseFlags([]string{"--cancel"}); err != nil {
		t.Fatal(err)
	}
	if got, _ := complete(nil)(cmd, []string{"basic"}, ""); len(got) > 0 {
		t.Errorf("with --cancel: %v", got)
	}
}
