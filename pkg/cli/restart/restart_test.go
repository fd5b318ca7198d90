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
		args    string
		want    []topology.Kind
		members []string
		says    string
	}{
		{args: "basic"},
		{args: "basic tikv pd --dry-run", want: []topology.Kind{topology.TiKV, topology.PD}},
		{args: "", says: "requires at least 1"},
		{args: "basic tikv tikv", says: "tikv is given twice"},
		{args: "basic tikv-1 basic-tikv-0 tidb", want: []topology.Kind{topology.TiDB}, members: []string{"basic-tikv-1", "basic-tikv-0"}},
		{args: "basic tikv-1 basic-tikv-1", says: "basic-tikv-1 is given twice"},
		{args: "basic tikv-1 tikv", says: "basic-tikv-1 restarts with all of tikv: leave one of them out"},
		{args: "basic tikv-01", says: `"tikv-01" is neither a component nor a member of a cluster basic`},
		{args: "basic other-tikv-0", says: `"other-tikv-0" is neither`},
		{args: "basic --cancel"},
		{args: "basic tikv-1 --cancel", says: "--cancel is for all members that were named, so it does not go with tikv-1"},
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
			if !slices.Equal(got.components, c.want) || !slices.Equal(got.members, c.members) || got.name[0] != "basic" {
				t.Errorf("%+v, want %v", got, c.want)
			}
		})
	}
}
