package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/running"
)

type setting struct {
	flags.Options
	name     string
	kind     topology.Kind
	settings map[string]any // nil: to be removed
	given    []string       // as they were given
	force    bool
}

func newSet(f *factory.Factory) *cobra.Command {
	return setCommand(f, func(ctx context.Context, o setting) error { return set(ctx, f, o) })
}

func setCommand(f *factory.Factory, run func(context.Context, setting) error) *cobra.Command {
	var o setting
	cmd := &cobra.Command{
		Use:   "set NAME COMPONENT KEY=VALUE...",
		Short: "Change settings of a component",
		Long: `Change settings in spec.<component>.config, and take the cluster there: members restart
one after another, unless the component reads its configuration again or the spec has
configUpdateStrategy: InPlace. KEY- removes a setting, so that the default counts.

PD keeps schedule and replication itself since the cluster was made, so these are changed
in PD, at once and without a restart or a run; the spec stays as it is.

VALUE is written as in TOML, where text needs no quotes. A setting that the members do not
have, or that is of another type there, is refused.`,
		Example: `  kubectl tidb config set basic tikv storage.block-cache.capacity=4GiB

  # See what would restart
  kubectl tidb config set basic tidb log.level=warn --dry-run

  # In PD, without a restart
  kubectl tidb config set basic pd schedule.leader-schedule-limit=8

  # Back to the default
  kubectl tidb config set basic tikv log.level-`,
		Args:              cobra.MinimumNArgs(3),
		ValidArgsFunction: completeSet(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			if err := o.parse(args); err != nil {
				return err
			}
			if err := o.validateAtOnce(); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.Bind(cmd)
	o.BindFieldManager(cmd)
	o.BindEviction(cmd)
	o.BindConcurrency(cmd)
	o.BindCanary(cmd)
	cmd.Flags().BoolVar(&o.force, "force", false, "Write settings that the members do not have, or that are of another type there.")
	return cmd
}

func (o *setting) parse(args []string) error {
	kind, known := topology.ParseKind(args[1])
	if !known {
		return exit.Usagef("there is no component %q", args[1])
	}
	o.name, o.kind, o.given, o.settings = args[0], kind, args[2:], map[string]any{}
	for _, arg := range o.given {
		key, value, sets := strings.Cut(arg, "=")
		removed, removes := strings.CutSuffix(arg, "-")
		if !sets && removes {
			key = removed
		}
		_, twice := o.settings[key]
		switch {
		case !sets && !removes, key == "", slices.Contains(strings.Split(key, "."), ""):
			return exit.Usagef("%q is not KEY=VALUE, such as log.level=warn, or KEY-", arg)
		case twice:
			return exit.Usagef("%s is given twice", key)
		case sets:
			o.settings[key] = topology.SettingOf(value)
		default:
			o.settings[key] = nil
		}
	}
	kept := 0
	for key, value := range o.settings {
		if !kind.Keeps(key) {
			continue
		}
		kept++
		if value == nil {
			return exit.Usagef("%s is kept by %s, which has no default to go back to: give it a value", key, kind.Title())
		}
	}
	if kept > 0 && kept < len(o.settings) {
		return exit.Usagef("what %s keeps itself is changed there, and other settings in the spec: give them in commands of their own", kind.Title())
	}
	return nil
}

// keptByMembers reports whether the members keep the settings themselves; all of them or none do.
func (o *setting) keptByMembers() bool {
	for key := range o.settings {
		return o.kind.Keeps(key)
	}
	return false
}

func set(ctx context.Context, f *factory.Factory, o setting) error {
	s, err := open(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer s.Close()
	g, ok := s.cluster.Group(o.kind)
	if !ok {
		return s.cluster.WithPDPart(o.kind, exit.Refusef("cluster %s/%s has no %s, so nothing was changed", s.Namespace, s.Name, o.kind.Title()),
			func(c topology.Cluster) remedy.Command {
				return remedy.Plugin(c.Namespace, append([]string{"config", "set", c.Name, string(o.kind)}, o.given...)...)
			})
	}
	is, host, unread := s.firstAnswer(ctx, o.kind)
	if problem := o.mismatch(is); problem != nil && unread == nil && !o.force {
		return problem
	}
	if o.keptByMembers() {
		if unread != nil {
			return unread
		}
		return o.setThere(ctx, f, s, host, is)
	}
	was, one := topology.Settings(s.cluster.Written, o.kind)
	if !one {
		return remedy.For(exit.Refusef("spec.%s.config has several files, so nothing was changed", o.kind),
			remedy.Run("write it yourself", s.cluster.Kubectl("edit", "tidbclusters", s.Name), s.cluster.Plugin("sync")))
	}
	r := check.Request{Action: "set " + strings.Join(o.given, " ") + " of " + o.kind.Title()}
	r.Change, r.Refusal = s.Intent.Configure(s.cluster.Written, o.kind, o.settings)
	r.Warnings = o.notes(g, was, topology.FieldOf(s.cluster.Written, o.kind).String())
	if unread != nil && !errors.Is(unread, running.ErrNotShown) {
		r.Warnings = append(r.Warnings, "whether members take these settings is not known: "+unread.Error())
	}
	return drive.Run(ctx, f, s.Session, o.Options, r)
}

// mismatch refuses settings that members would not start with, as far as what they run with shows it.
func (o *setting) mismatch(is map[string]any) error {
	var problems []string
	for _, key := range slices.Sorted(maps.Keys(o.settings)) {
		if o.settings[key] == nil {
			continue
		}
		if why := topology.Mismatch(key, o.settings[key], is); why != "" {
			problems = append(problems, why)
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return exit.Refusef("%s of cluster %s does not take that, so nothing was changed: %s; give --force if it does",
		o.kind.Title(), o.name, strings.Join(problems, "; "))
}

// notes says what changes in the component's field of the spec, and what does not happen by itself.
func (o *setting) notes(g topology.Group, was map[string]any, field string) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(o.settings)) {
		to, from := "not set", "not set"
		if v, ok := was[key]; ok {
			from = toJSON(v)
		}
		if v := o.settings[key]; v != nil {
			to = toJSON(v)
		}
		all = append(all, fmt.Sprintf("%s.config[%s] from %s to %s", field, key, from, to))
	}
	if g.InPlace && !o.kind.Reloads() {
		all = append(all, fmt.Sprintf("%s.configUpdateStrategy is InPlace, so no member restarts: the settings are in effect after a restart", field))
	}
	if !g.Configured {
		all = append(all, fmt.Sprintf("%s.config is new: it replaces the configuration that the pods have from elsewhere, if there is one", field))
	}
	return all
}

func completeSet(f *factory.Factory) cobra.CompletionFunc {
	clusters := target.Complete(f)
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return clusters(cmd, args, word)
		case 1:
			var all []string
			for _, k := range topology.Kinds() {
				all = append(all, string(k))
			}
			return all, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}
