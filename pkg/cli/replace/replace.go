// Package replace is the verb that gives members new volumes, one after another.
package replace

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// options are the verb's flags and its arguments.
type options struct {
	flags.Options
	name     []string // the argument that names the cluster
	members  []string // pods
	allOf    []string // components
	awayFrom string   // the node that members are to leave
	spare    bool
	cancel   bool
	balanced *bool  // whether each member waits for balance; nil where the user does not say that
	class    string // the storage class of the new volumes, "" for the one that there is
	size     string // their size, "" for the one that there is
	storage  intent.Storage
}

const examples = `  # A store with a bad disk
  kubectl tidb replace basic tikv-1

  # What would be done, and how many regions move?
  kubectl tidb replace basic tikv-1 --dry-run

  # All stores of a cluster that has no more than PD needs
  kubectl tidb replace basic --all-of tikv --spare

  # All stores on another storage class
  kubectl tidb replace basic --all-of tikv --storage-class fast --spare

  # All stores, with balanced regions before the next one
  kubectl tidb replace basic --all-of tikv --wait-balanced

  # All members on a node, which come back on other nodes
  kubectl cordon node-7
  kubectl tidb replace basic --away-from node-7

  # No further member; a store that is offline already is finished
  kubectl tidb replace basic --cancel`

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error { return run(ctx, f, o) })
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	var balanced bool
	cmd := &cobra.Command{
		Use:   "replace NAME MEMBER...",
		Short: "Give members new volumes one after another",
		Long: `Give members of PD, TiKV, TiFlash and Pump new volumes, one after another. The database does
without a member first: its leaders and regions move to other stores, PD removes it as a
voter, or Pump hands over what it has. Then its claims and its pod are deleted, and
Kubernetes makes both again, perhaps on another node. The member joins with new data, and
the next one begins when all members serve. Members of TiDB, TiProxy and TiCDC that have volumes
restart with new ones, as "kubectl tidb restart" does it. MEMBER is a pod, as basic-tikv-1 or
tikv-1.

The number of members stays the same, so that this also moves members off a node. --away-from
says which node. It is refused unless the node is cordoned, because Kubernetes could choose the
same node again. This is checked at the start, so the node has to stay cordoned. Without names
of members, all members with volumes that run on the node are replaced.

Stores can leave only where enough other ones can take their regions. Where
they are too few, --spare adds one store, and removes it again at the end.

The next store is replaced when the one before serves, with the regions that PD has given it
by then. With --wait-balanced, it waits until the new store has its share: nearly as many
regions as the store beside it that has the fewest. To stop waiting, name the waiting members
with --wait-balanced=false. After the last member, the command does not wait for balance.

It writes into the TidbCluster which members are to be replaced: the annotation
kubectl-tidb/replace, with the UIDs of their claims. So an interrupted replacement is
continued with "kubectl tidb sync", or by a daemon. It deletes data, so it asks for consent,
or takes --yes.

With --storage-class and --storage, all members of a component get volumes of another storage
class or size, also a smaller one. The StatefulSet is made again with these claim templates
before; its pods stay. "kubectl tidb apply" of a manifest with such a change does the same.

--cancel takes requests back. A store that is offline already comes back with the data that it
has if you name it. Without names, such a store is finished.`,
		Example:           examples,
		SuggestFor:        []string{"recreate", "move", "evacuate", "decommission"},
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: target.CompleteMembers(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			if cmd.Flags().Changed("wait-balanced") {
				o.balanced = &balanced
			}
			if err := o.parse(args); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.bind(cmd, f)
	cmd.Flags().BoolVar(&balanced, "wait-balanced", false, "Wait before the next store until PD has balanced the regions of those before.")
	return cmd
}

// bind adds the flags.
func (o *options) bind(cmd *cobra.Command, f *factory.Factory) {
	o.Bind(cmd)
	o.BindFieldManager(cmd)
	o.BindEviction(cmd)
	cmd.Flags().StringSliceVar(&o.allOf, "all-of", nil, "Replace all members of these components: pd, tikv, tiflash, pump, or tidb, tiproxy, ticdc where these have volumes.")
	cmd.Flags().StringVar(&o.awayFrom, "away-from", "", "The node that members leave for other nodes. It has to be cordoned.")
	cmd.Flags().BoolVar(&o.spare, "spare", false, "Add one store until the stores that are named have new volumes.")
	cmd.Flags().StringVar(&o.class, "storage-class", "", "Storage class of the new volumes of all members of the components.")
	cmd.Flags().StringVar(&o.size, "storage", "", "Size of the new volumes with data of all members of the components, such as 200Gi.")
	cmd.Flags().BoolVar(&o.cancel, "cancel", false, "Take requests back that have not been carried out yet.")
	_ = cmd.RegisterFlagCompletionFunc("away-from", target.CompleteNode(f))
	_ = cmd.RegisterFlagCompletionFunc("all-of", cobra.FixedCompletions(replaceable(), cobra.ShellCompDirectiveNoFileComp))
}

// replaceable returns the components whose members can have volumes.
func replaceable() []string {
	var all []string
	for _, k := range topology.Kinds() {
		all = append(all, string(k))
	}
	return all
}

func run(ctx context.Context, f *factory.Factory, o options) error {
	s, now, err := target.Load(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer s.Close()
	from, err := o.leftNode(ctx, s.Kube)
	if err != nil {
		return err
	}
	seen, err := s.Observe(ctx, f)
	if err != nil {
		return err
	}
	r := replacement{now: now, cluster: topology.New(now), wanted: seen.Cluster, groups: seen.Snapshot.Groups, at: f.Clock.Now()}
	if o.cancel {
		return o.takeBack(ctx, f, s, r)
	}
	if from != nil {
		members, err := o.leaving(ctx, s.Kube, from, r)
		switch {
		case err != nil:
			return drive.Run(ctx, f, s, o.Options, check.Request{Action: "replace away from " + from.name, Refusal: err})
		case len(members) == 0:
			return drive.Unneeded(f, s, o.Options, "replace", "no member with volumes is on "+from.name+", so nothing was changed")
		}
		o.members, o.allOf = members, nil
	}
	asked, err := o.ask(r)
	if err == nil && len(asked) == 0 {
		return drive.Unneeded(f, s, o.Options, "replace", "all members have such volumes already, so nothing was changed")
	}
	request := check.Request{Action: "replace " + strings.Join(append(slices.Clone(o.members), o.allOf...), ", "), Refusal: err}
	if err == nil {
		if request.Change, err = s.Intent.ReplaceWith(now, asked, o.kinds(), o.storage); err != nil {
			request.Refusal = exit.With(exit.Refused, err)
		}
		request.Fulfilled = func(ctx context.Context) error { return checkReplaced(ctx, f, s, asked) }
	}
	return drive.Run(ctx, f, s, o.Options, request)
}

// parse reads the arguments.
func (o *options) parse(args []string) error {
	o.name, o.members = args[:1], nil
	c := topology.Cluster{Name: args[0]}
	for _, arg := range args[1:] {
		kind, ordinal, named := c.Named(arg)
		member := c.PodName(kind, ordinal)
		switch {
		case !named:
			return exit.Usagef("%q is no member of a cluster %s, such as tikv-0", arg, c.Name)
		case ordinal == topology.Every:
			return exit.Usagef("%q is a component: for all of its members use --all-of %s", arg, kind)
		case slices.Contains(o.members, member):
			return exit.Usagef("%s is given twice", arg)
		case slices.Contains(o.allOf, string(kind)):
			return exit.Usagef("%s is one of --all-of %s: leave one of them out", arg, kind)
		}
		o.members = append(o.members, member)
	}
	for _, k := range o.allOf {
		if !slices.Contains(replaceable(), k) {
			return exit.Usagef("--all-of %s: there is no such component; there are %s", k, strings.Join(replaceable(), ", "))
		}
	}
	if err := o.parseStorage(); err != nil {
		return err
	}
	switch named := len(o.members)+len(o.allOf) > 0 || o.awayFrom != ""; {
	case !named && !o.cancel:
		return exit.Usagef("name the members, or use --all-of COMPONENT or --away-from NODE")
	case o.cancel && (len(o.allOf) > 0 || o.spare || o.balanced != nil || o.awayFrom != ""):
		return exit.Usagef("--cancel goes with names of members, or alone")
	}
	return nil
}

// parseStorage reads what the new volumes are to be.
func (o *options) parseStorage() error {
	o.storage = intent.Storage{Class: o.class}
	if o.size != "" {
		size, err := resource.ParseQuantity(o.size)
		if err != nil || size.Sign() <= 0 {
			return exit.Usagef("--storage: %q is not an amount such as 10Gi", o.size)
		}
		o.storage.Size = topology.SizeOf(size)
	}
	if o.storage != (intent.Storage{}) && (o.cancel || len(o.members) > 0 || o.awayFrom != "") {
		return exit.Usagef("--storage-class and --storage go with --all-of COMPONENT alone: all members of a component have volumes of the same class and size")
	}
	for _, k := range o.kinds() {
		if o.storage != (intent.Storage{}) && k.Data() == topology.None {
			return remedy.For(exit.Usagef("--storage-class and --storage are about volumes with data, and %s has none", k.Title()),
				remedy.Run("change its storageVolumes", topology.Cluster{Name: o.name[0]}.Plugin("edit")))
		}
	}
	return nil
}

// kinds returns the components of which all members are replaced.
func (o options) kinds() []topology.Kind {
	var all []topology.Kind
	for _, k := range o.allOf {
		all = append(all, topology.Kind(k))
	}
	return all
}
