package restart

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		args string
		want []topology.Kind
		says string
	}{
		{args: "basic"},
		{args: "basic tikv pd --dry-run", want: []topology.Kind{topology.TiKV, topology.PD}},
		{args: "", says: "requires at least 1"},
		{args: "basic tikv tikv", says: "tikv is given twice"},
		{args: "basic basic-tikv-0", says: `no component "basic-tikv-0"; there are pd, `},
		{args: "basic tikv --exit-code", says: "--exit-code goes with --dry-run"},
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
			if !slices.Equal(got.components, c.want) || got.name[0] != "basic" {
				t.Errorf("%+v, want %v", got, c.want)
			}
		})
	}
}
