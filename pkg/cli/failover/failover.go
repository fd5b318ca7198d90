// Package failover is the verb that replaces members that are lost, and removes the replacements
// when the members are back.
package failover

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// The arguments for what to do about members that are lost.
const (
	toList    = "list"
	toRun     = "run"
	toRecover = "recover"
)

// options are the verb's flags and arguments.
type options struct {
	flags.Options
	name       []string
	action     string
	components []string
	now        bool
	discard    []string
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error { return do(ctx, f, o) })
}

func command(f *factory.Factory, do func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "failover NAME [list|run|recover]",
		Short: "Replace members that are lost, or take them back",
		Long: `Replace members that are lost, or take them back.

"list", which is also what happens without a word, shows members that are down, since
when and by what evidence, what becomes of each and when, and failovers under way.

"run" gives members up that have been down for five minutes, and TiKV stores five
minutes after PD calls them Down. It waits for those that are not due yet; --now does
not. A member of PD is removed from PD, and comes back with new data; if its pod
cannot start, a further member is added. A store or a TiDB server gets a replacement
beside it. No more members are given up than
maxFailoverCount allows, and none whose pod is of the revision that is being rolled
out, unless another member serves with it.

The data of a store that was given up is kept in case that it comes back. Where it
never will, --discard gives up its data as well: PD moves what it had to other stores,
and the pod starts again with an empty volume. That asks for consent, or takes --yes.

"recover" takes the replacements away when the members they stand for are back. PD and
TiDB do that by themselves. Where no failover is recorded, it says so and changes nothing.`,
		Example: `  # What is down, and what would happen when?
  kubectl tidb failover basic

  # Replace what is lost, as soon as it is due
  kubectl tidb failover basic run

  # The host of a store and its disk are gone for good
  kubectl tidb failover basic run --component tikv --now --discard basic-tikv-2

  # The store is back, so its replacement can go
  kubectl tidb failover basic recover`,
		SuggestFor:        []string{"recover"},
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name, o.action = args[:1], toList
			if len(args) > 1 {
				o.action = args[1]
			}
			if err := o.validate(); err != nil {
				return err
			}
			return do(cmd.Context(), o)
		},
	}
	o.Bind(cmd)
	o.BindFieldManager(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&o.components, "component", nil, "Only members of these components: pd, tikv, tiflash, tidb.")
	flags.BoolVar(&o.now, "now", false, "With run: do not wait until members are due.")
	flags.StringSliceVar(&o.discard, "discard", nil, "With run: give up the data of these stores (names of their pods) for good.")
	_ = cmd.RegisterFlagCompletionFunc("component", cobra.FixedCompletions(names(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("discard", target.CompletePods(f, keepers()...))
	return cmd
}

// validate checks the command line alone.
func (o *options) validate() error {
	if !slices.Contains([]string{toList, toRun, toRecover}, o.action) {
		return exit.Usagef("%q is none of list, run and recover", o.action)
	}
	for _, c := range o.components {
		if _, ok := topology.ParseKind(c); !ok {
			return exit.Usagef("there is no component %q; there are %v", c, names())
		}
	}
	switch {
	case o.action != toRun && o.now:
		return exit.Usagef("--now goes with run")
	case o.action != toRun && len(o.discard) > 0:
		return exit.Usagef("--discard goes with run")
	case o.action == toList && o.DryRun != flags.NoDryRun:
		return exit.Usagef("list changes nothing in any case; --dry-run goes with run and recover")
	case o.action == toList && o.Reports.Given():
		return exit.Usagef("list drives nothing; --report goes with run and recover")
	}
	if err := o.Validate(); err != nil || o.action != toRun {
		return err
	}
	return o.Stay("failover run")
}

func (o *options) only() []topology.Kind {
	var kinds []topology.Kind
	for _, c := range o.components {
		k, _ := topology.ParseKind(c)
		kinds = append(kinds, k)
	}
	return kinds
}

func do(ctx context.Context, f *factory.Factory, o options) error {
	s, err := target.Open(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer s.Close()
	now, err := s.Load(ctx)
	if bad, malformed := errors.AsType[*intent.MalformedError](err); malformed && o.action == toList {
		shown := show(ctx, f, s, o, bad.Cluster)
		if exit.Of(shown) != exit.OK && exit.Of(shown) != exit.Refused {
			return shown
		}
	}
	if err != nil {
		return err
	}
	r := check.Request{Action: "failover", Unrecorded: true, Change: intent.Change{Now: now, Want: now}}
	switch o.action {
	case toList:
		return show(ctx, f, s, o, now)
	case toRun:
		r.Policy.Failover = plan.Failing{Members: true, Only: o.only(), Now: o.now, Discard: o.discard}
		r.Refusal = o.mistaken(now)
	case toRecover:
		r.Action = "recovery from failover"
		if why := o.nothingToRecover(topology.New(now)); why != "" {
			return drive.Unneeded(f, s, o.Options, r.Action, why)
		}
		if change, ok := s.Intent.Recover(now, o.concerned(keepers())...); ok {
			r.Change = change
		}
	}
	return drive.Run(ctx, f, s, o.Options, r)
}

func (o *options) concerns(k topology.Kind) bool {
	return len(o.components) == 0 || slices.Contains(o.only(), k)
}

// concerned returns the components that the command is about, out of a list.
func (o *options) concerned(kinds []topology.Kind) []topology.Kind {
	return slices.DeleteFunc(kinds, func(k topology.Kind) bool { return !o.concerns(k) })
}

// keepers returns the components that keep the data of members that were given up.
func keepers() []topology.Kind {
	var kinds []topology.Kind
	for _, p := range component.Profiles() {
		if p.Failover != nil && p.Failover.Keeps {
			kinds = append(kinds, p.Kind)
		}
	}
	return kinds
}

// nothingToRecover returns why there is nothing to recover from, "" where there is a failover. A run would
// then do what else is left to do in the cluster, which nobody has asked for.
func (o *options) nothingToRecover(c topology.Cluster) string {
	for _, g := range c.Groups {
		if o.concerns(g.Kind) && len(g.Failures) > 0 {
			return ""
		}
	}
	about := target.Title(c)
	if len(o.components) > 0 {
		var titles []string
		for _, k := range o.only() {
			titles = append(titles, k.Title())
		}
		about = strings.Join(titles, " and ") + " of " + about
	}
	return "no failover of " + about + " is recorded, so there is nothing to recover and nothing was changed"
}

// mistaken refuses to discard data of members whose component keeps none.
func (o *options) mistaken(tc *v1alpha1.TidbCluster) error {
	c := topology.New(tc)
	for _, name := range o.discard {
		k, n, ok := c.Member(name)
		g, _ := c.Group(k)
		switch {
		case !ok || !slices.Contains(keepers(), k):
			return exit.Refusef("%q is no store of cluster %s/%s, so nothing was changed; stores are named like %s, "+
				"and members of PD and TiDB come back with new data in any case",
				name, c.Namespace, c.Name, c.PodName(keepers()[0], 0))
		case n >= g.Replicas:
			return exit.Refusef("%s is not one of the %d stores that cluster %s/%s asks for, so nothing was changed",
				name, g.Replicas, c.Namespace, c.Name)
		case !o.concerns(k):
			return exit.Usagef("--discard %s is about %s, which --component leaves out", name, k.Title())
		}
	}
	return nil
}

func names() []string {
	var names []string
	for _, k := range topology.Kinds() {
		names = append(names, string(k))
	}
	return names
}

func complete(f *factory.Factory) cobra.CompletionFunc {
	clusters := target.Complete(f)
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return clusters(cmd, args, word)
		case 1:
			return []string{
				toList + "\tshow what is down and what would become of it",
				toRun + "\treplace members that are lost",
				toRecover + "\ttake replacements away",
			}, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}
