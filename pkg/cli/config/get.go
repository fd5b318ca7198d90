package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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

type getting struct {
	name, of, key string
	output        output.Format
}

func newGet(f *factory.Factory) *cobra.Command {
	return getCommand(f, func(ctx context.Context, o getting) error { return get(ctx, f, o) })
}

func getCommand(f *factory.Factory, run func(context.Context, getting) error) *cobra.Command {
	var o getting
	cmd := &cobra.Command{
		Use:   "get NAME [COMPONENT|MEMBER] [KEY]",
		Short: "Show what members run with",
		Long: `Show the configuration that PD, TiKV and TiDB run with, as the members say themselves. Of
a component it is that of the first member that answers. KEY is a setting such as
log.level, or a table such as log. The value of one setting of one member is printed alone.`,
		Example: `  kubectl tidb config get basic tikv

  # One value, for a script
  kubectl tidb config get basic tikv-0 storage.block-cache.capacity

  # What PD keeps about its schedulers
  kubectl tidb config get basic pd schedule`,
		Args:              cobra.RangeArgs(1, 3),
		ValidArgsFunction: target.CompleteMember(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name, o.of, o.key = args[0], "", ""
			if len(args) > 1 {
				o.of = args[1]
			}
			if len(args) > 2 {
				o.key = args[2]
			}
			return run(cmd.Context(), o)
		},
	}
	o.output.Bind(cmd, "With json, an object with the settings of each component, or of the member that is named.")
	return cmd
}

func get(ctx context.Context, f *factory.Factory, o getting) error {
	s, err := open(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.get(ctx, f, o)
}

// get prints what members run with.
func (s session) get(ctx context.Context, f *factory.Factory, o getting) error {
	members, ok := s.choose(o.of)
	keyOnly := !ok && o.key == "" // the component may be left out before a key
	if keyOnly {
		o.of, o.key = "", o.of
		members, ok = s.choose("")
	}
	if !ok || len(members) == 0 {
		return s.lacks(o.of, "get")
	}
	all, names, last := s.read(ctx, o, members)
	switch {
	case errors.Is(last, running.ErrNotShown):
		return exit.With(exit.Refused, last)
	case len(all) == 0:
		return last
	case last != nil:
		fmt.Fprintln(f.Streams.ErrOut, "note:", last)
	}
	found := slices.ContainsFunc(names, func(name string) bool { return len(all[name]) > 0 })
	switch {
	case !found && keyOnly:
		return exit.Usagef("cluster %s/%s has no component, no member and no setting %q", s.cluster.Namespace, s.cluster.Name, o.key)
	case !found && o.key != "":
		return exit.Usagef("there is no setting %q in the configuration of %s", o.key, strings.Join(names, ", "))
	}
	if o.output.JSON() {
		return output.Write(f.Streams.Out, all)
	}
	return printSettings(f, o, all, names)
}

// lacks returns the error about a component or a member that the cluster does not have.
func (s session) lacks(name, verb string) error {
	k, _, _ := s.cluster.Named(name)
	return s.cluster.WithPDPart(k, exit.Usagef("cluster %s/%s has no component and no member %q", s.cluster.Namespace, s.cluster.Name, name),
		func(c topology.Cluster) remedy.Command {
			return remedy.Plugin(c.Namespace, "config", verb, c.Name, string(k))
		})
}

// read returns the settings that are asked for, and their names in order. The settings are by component, or by the
// member that is named. The error is the last one of a member that did not answer.
func (s session) read(ctx context.Context, o getting, members []member) (all map[string]map[string]any, names []string, last error) {
	all = map[string]map[string]any{}
	_, ordinal, named := s.cluster.Named(o.of)
	for _, m := range members {
		title := string(m.Kind)
		if named && ordinal != topology.Every {
			title = m.name
		}
		if all[title] != nil {
			continue
		}
		settings, err := s.ask(ctx, m)
		if err != nil {
			last = err
			continue
		}
		all[title], names = only(settings, o.key), append(names, title)
	}
	return all, names, last
}

// only returns the settings with a key, or in a table; all for "".
func only(settings map[string]any, key string) map[string]any {
	if key == "" {
		return settings
	}
	found := map[string]any{}
	for k, v := range settings {
		if k == key || strings.HasPrefix(k, key+".") {
			found[k] = v
		}
	}
	return found
}

func printSettings(f *factory.Factory, o getting, all map[string]map[string]any, names []string) error {
	var rows [][]string
	for _, name := range names {
		for _, key := range slices.Sorted(maps.Keys(all[name])) {
			rows = append(rows, []string{name, key, text(all[name][key], true)})
		}
	}
	if len(rows) == 1 && rows[0][1] == o.key && o.of != "" {
		_, err := fmt.Fprintln(f.Streams.Out, rows[0][2])
		return err
	}
	return report.Table(f.Streams.Out, []string{"of", "setting", "value"}, rows)
}
