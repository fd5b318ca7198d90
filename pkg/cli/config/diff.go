package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/running"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

type comparing struct {
	name, of string
	exitCode bool
	output   output.Format
}

// difference is a setting of the spec that a member does not run with.
type difference struct {
	Member  string `json:"member"`
	Setting string `json:"setting"`
	Spec    any    `json:"spec"`
	Running any    `json:"running"` // null where the member does not have the setting
	Why     string `json:"why"`
}

func newDiff(f *factory.Factory) *cobra.Command {
	return diffCommand(f, func(ctx context.Context, o comparing) error { return diff(ctx, f, o) })
}

func diffCommand(f *factory.Factory, run func(context.Context, comparing) error) *cobra.Command {
	var o comparing
	cmd := &cobra.Command{
		Use:   "diff NAME [COMPONENT|MEMBER]",
		Short: "Show which settings of the spec are not in effect",
		Long: `Compare spec.<component>.config with what PD, TiKV and TiDB say that they run with. It
shows the settings of the spec with which a member does not run, and why: PD keeps schedule
and replication itself since the cluster was made, and other settings need a restart.
Settings that are not in the spec have the defaults of the version, and are not compared.
A member that does not answer is named, the others are shown, and the exit code is 1.`,
		Example: `  kubectl tidb config diff basic

  # In a pipeline: exits with 10 if anything differs
  kubectl tidb config diff basic tikv --exit-code`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: target.CompleteMember(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name, o.of = args[0], ""
			if len(args) > 1 {
				o.of = args[1]
			}
			return run(cmd.Context(), o)
		},
	}
	o.output.Bind(cmd, "With json, a list of the differences.")
	cmd.Flags().BoolVar(&o.exitCode, "exit-code", false, "Exit with 10 if anything differs.")
	return cmd
}

func diff(ctx context.Context, f *factory.Factory, o comparing) error {
	s, err := open(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.diff(ctx, f, o)
}

// diff prints which settings of the spec are not in effect.
func (s session) diff(ctx context.Context, f *factory.Factory, o comparing) error {
	members, ok := s.choose(o.of)
	if !ok || len(members) == 0 {
		return s.lacks(o.of, "diff")
	}
	found := []difference{}
	var failed []error
	for _, m := range members {
		want, one := topology.Settings(s.cluster.Written, m.Kind)
		if !one || !running.Shown(m.Kind) {
			return exit.Refusef("%s cannot be compared: %w", m.Title(), running.ErrNotShown)
		}
		is, err := s.ask(ctx, m)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s was not compared: %w", m.name, err))
			continue
		}
		found = append(found, compare(s.cluster, m, want, is)...)
	}
	if err := o.print(f, found, len(members), len(failed)); err != nil {
		return err
	}
	switch {
	case len(failed) > 0: // nothing is known about these members
		return errors.Join(failed...)
	case len(found) > 0 && o.exitCode:
		return exit.With(exit.Pending, nil)
	}
	return nil
}

// compare returns the settings of the spec that a member does not run with.
func compare(c topology.Cluster, m member, want, is map[string]any) []difference {
	var all []difference
	for _, key := range slices.Sorted(maps.Keys(want)) {
		now, there := is[key]
		if there && topology.SameSetting(want[key], now) {
			continue
		}
		why := "needs a restart of the member"
		switch {
		case m.Keeps(key):
			why = fmt.Sprintf("%s keeps it itself: change it with %s", m.Title(), remedy.Plugin(c.Namespace, "config", "set", c.Name, string(m.Kind), key+"=VALUE").Line(""))
		case !there:
			why = "the member does not show such a setting"
		}
		all = append(all, difference{Member: m.name, Setting: key, Spec: want[key], Running: now, Why: why})
	}
	return all
}

// print prints the differences of members, of which so many did not answer.
func (o comparing) print(f *factory.Factory, found []difference, members, failed int) error {
	switch {
	case o.output.JSON():
		return output.Write(f.Streams.Out, found)
	case failed == members: // nothing is known
		return nil
	case len(found) == 0:
		which := "the members"
		if failed > 0 {
			which = "the members that answer"
		}
		_, err := fmt.Fprintf(f.Streams.Out, "no setting of the spec differs from what %s run with\n", which)
		return err
	}
	var rows [][]string
	for _, d := range found {
		rows = append(rows, []string{d.Member, d.Setting, text(d.Spec, true), text(d.Running, false), d.Why})
	}
	return report.Table(f.Streams.Out, []string{"member", "setting", "spec", "running", "why"}, rows)
}
