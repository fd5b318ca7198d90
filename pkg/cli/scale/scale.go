// Package scale is the verb that changes how many members components have.
package scale

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/rollback"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// options are the verb's flags and its arguments.
type options struct {
	flags.Options
	name     []string // the argument that names the cluster
	changes  string   // as the user wrote them
	replicas map[topology.Kind]int32
	cancel   bool     // take back the scale that is under way
	remove   []string // the members that the user wants to leave
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error { return run(ctx, f, o) })
}

// long is the help of the command.
const long = `Scale PD, TiKV, TiFlash, TiDB, TiProxy, TiCDC or Pump, one member at a time.
COMPONENT is pd, tikv, tiflash, tidb, tiproxy, ticdc or pump.

A PD member hands its leadership over and leaves PD before its pod goes. A TiKV
store gives its region leaders up, moves all its regions to other stores and
becomes a tombstone before its pod goes. A capture of TiCDC gives its tables to the
others before; the last one stays while changefeeds run. A Pump is closed, and waits
until drainers have read what it has; the last one stays while TiDB writes its binlog.
Claims of removed members stay, marked; a later scale-out to the same ordinal deletes
them first.

Fewer stores than PD keeps replicas of the data (max-replicas), stores that PD's
placement rules or its isolation level need, stores of TiFlash that tables need for
their replicas, or no PD at all, is refused.

A StatefulSet removes only its highest ordinals. --remove says which members are to
leave. It is refused where other members would leave, and shows how the member that is
named gets a new volume, or another node. MEMBER is a pod, as basic-tikv-3 or tikv-3.

An AdvancedStatefulSet of tidb-operator can have ordinals with gaps. In a cluster with
such StatefulSets --remove removes any member, and writes the ordinal into the annotation
COMPONENT.tidb.pingcap.com/delete-slots of the TidbCluster. If the number of replicas stays
the same, a new member comes first.

With --cancel a scale that is under way is taken back: members that were added leave,
and those that were about to leave stay. It is refused if the change that is under way
is another one; "abort" takes back any.`

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "scale NAME (COMPONENT=N... [--remove MEMBER...] | --cancel)",
		Short: "Scale PD, TiKV, TiFlash, TiDB, TiProxy, TiCDC or Pump",
		Long:  long,
		Example: `  kubectl tidb scale basic tikv=4

  # Several components at once
  kubectl tidb scale basic pd=5 tidb=3

  # See what it would take
  kubectl tidb scale basic tikv=3 --dry-run

  # Only if it removes this store
  kubectl tidb scale basic tikv=3 --remove tikv-3

  # Take back one that is under way
  kubectl tidb scale basic --cancel`,
		SuggestFor:        []string{"resize", "scale-in", "scale-out"},
		Args:              func(cmd *cobra.Command, args []string) error { return o.arguments(cmd, args) },
		ValidArgsFunction: complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			var err error
			if o.replicas, err = parse(args[1:]); err != nil {
				return err
			}
			o.name, o.changes = args[:1], strings.Join(args[1:], " ")
			if err = o.parseRemoved(); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.bind(cmd, f)
	return cmd
}

// bind adds the flags.
func (o *options) bind(cmd *cobra.Command, f *factory.Factory) {
	o.Bind(cmd)
	o.BindFieldManager(cmd)
	o.BindEviction(cmd)
	o.BindStop(cmd)
	cmd.Flags().StringSliceVar(&o.remove, "remove", nil, "Members that are to leave. It is refused where the scale-in would remove others.")
	_ = cmd.RegisterFlagCompletionFunc("remove", target.CompleteMemberFlag(f))
	cmd.Flags().BoolVar(&o.cancel, cancel, false, "Take back the scale that is under way, and nothing else; without numbers.")
}

const cancel = "cancel"

// arguments checks how many arguments there are.
func (o *options) arguments(cmd *cobra.Command, args []string) error {
	switch {
	case o.cancel && len(o.remove) > 0:
		return exit.Usagef("--cancel goes back to the numbers before, so it does not go with --remove")
	case !o.cancel:
		return cobra.MinimumNArgs(2)(cmd, args)
	case len(args) > 1:
		return exit.Usagef("--cancel goes back to the numbers before, so it does not go with %s", strings.Join(args[1:], " "))
	}
	return cobra.ExactArgs(1)(cmd, args)
}

func run(ctx context.Context, f *factory.Factory, o options) error {
	if o.cancel {
		return rollback.CancelScale(ctx, f, o.Options, o.name)
	}
	s, now, err := target.Load(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer s.Close()
	r := check.Request{Action: "scale " + o.changes}
	if len(o.remove) == 0 {
		r.Change, r.Refusal = s.Intent.Scale(now, o.replicas, nil)
		return drive.Run(ctx, f, s, o.Options, r)
	}
	seen, err := s.Observe(ctx, f)
	if err != nil {
		return err
	}
	was := topology.New(now)
	r.Change, r.Refusal = s.Intent.Scale(now, o.replicas, o.slots(was, seen.Cluster.Advanced))
	if r.Refusal == nil {
		r.Refusal = o.removable(was, topology.New(r.Want), seen.Cluster.Advanced, seen.Snapshot.Groups)
	}
	return drive.Run(ctx, f, s, o.Options, r)
}

// parse reads COMPONENT=N arguments.
func parse(args []string) (map[topology.Kind]int32, error) {
	replicas := map[topology.Kind]int32{}
	for _, arg := range args {
		name, number, ok := strings.Cut(arg, "=")
		kind, known := topology.ParseKind(name)
		n, err := strconv.ParseInt(number, 10, 32)
		_, twice := replicas[kind]
		switch {
		case !ok:
			return nil, exit.Usagef("%q is not COMPONENT=N, such as tikv=4", arg)
		case !known:
			return nil, exit.Usagef("there is no component %q; there are %s", name, kinds())
		case err != nil || n < 0:
			return nil, exit.Usagef("%q is not a number of replicas: it has to be zero or more", number)
		case twice:
			return nil, exit.Usagef("%s is given twice", name)
		}
		replicas[kind] = int32(n)
	}
	return replicas, nil
}

func kinds() string {
	var names []string
	for _, k := range topology.Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

func complete(f *factory.Factory) cobra.CompletionFunc {
	names := target.Complete(f)
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return names(cmd, args, word)
		}
		if cmd != nil && cmd.Flags().Changed(cancel) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var components []string
		for _, k := range topology.Kinds() {
			given := func(arg string) bool { return strings.HasPrefix(arg, string(k)+"=") }
			if !slices.ContainsFunc(args[1:], given) {
				components = append(components, string(k)+"=")
			}
		}
		return components, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
}
