package leader

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/wait"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/act"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// eviction are the flags and arguments of "evict-leader".
type eviction struct {
	wait.Awaited
	name, member string
	stop         bool
}

// NewEvict makes the command "evict-leader".
func NewEvict(f *factory.Factory) *cobra.Command {
	return evictCommand(f, func(ctx context.Context, o eviction) error { return o.run(ctx, f) })
}

func evictCommand(f *factory.Factory, run func(context.Context, eviction) error) *cobra.Command {
	var o eviction
	cmd := &cobra.Command{
		Use:   "evict-leader NAME MEMBER [--stop]",
		Short: "Move region leaders off a store of TiKV, and keep them off",
		Long: `Move the region leaders off a store of TiKV, and keep them off until the same command with
--stop. MEMBER is the store's pod, as basic-tikv-2 or tikv-2. Its data stays where it is, and
clients go on.

It makes an evict-leader scheduler in PD, where it stays also when the pod restarts, or this
command is interrupted while it waits. While a store is missing that PD counts and that is
no member of this TidbCluster, a warning says that this store must not go down as well. Until it is ended, "kubectl tidb status" shows it. A
run that restarts the store, such as an upgrade, leaves it as it is.`,
		Example: `  # Before the disk of a store is looked at, and after that
  kubectl tidb evict-leader basic tikv-2
  kubectl tidb evict-leader basic tikv-2 --stop`,
		SuggestFor:        []string{"drain", "evict"},
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: completePods(f, topology.TiKV),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			for _, of := range []string{"timeout", "output"} {
				if o.stop && cmd.Flags().Changed(of) {
					return exit.Usagef("--stop waits for nothing, so it does not go with --%s", of)
				}
			}
			o.name, o.member = args[0], args[1]
			return run(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.stop, "stop", false, "End it: the store may lead regions again. It does not wait until they are back.")
	o.Bind(cmd)
	return cmd
}

func (o eviction) run(ctx context.Context, f *factory.Factory) error {
	s, err := target.Open(ctx, f, []string{o.name})
	if err != nil {
		return err
	}
	defer s.Close()
	seen, err := s.Observe(ctx, f)
	if err != nil {
		return err
	}
	if o.stop {
		return o.end(ctx, f, s, seen)
	}
	m, err := evict(seen.Cluster, seen.Snapshot, o.member)
	if err != nil {
		return err
	}
	if warning := warnOfStoresElsewhere(seen.Cluster, seen.Snapshot, m, f.Context()); warning != "" {
		fmt.Fprintf(f.Streams.ErrOut, "warning: %s\n", warning)
	}
	if !m.Database.Evicting {
		if err := s.Observer.PD().AddEvictLeader(ctx, m.Database.ID); err != nil {
			err = fmt.Errorf("add evict-leader scheduler of store %d: %w", m.Database.ID, err)
			if errors.Is(err, pd.ErrPaused) {
				err = remedy.For(err, act.Forget(ctx, seen.Cluster, s.Observer.PD())...)
			}
			return err
		}
	}
	o.Goal = wait.NoLeaders(m.Name)
	if err := o.Until(ctx, f, s); err != nil {
		return err
	}
	if !o.Output.JSON() {
		stop := remedy.Plugin(s.Namespace, "evict-leader", s.Name, m.Name, "--stop")
		fmt.Fprintf(f.Streams.Out, "%s leads no regions; to end that: %s\n", m.Name, stop.Line(f.Context()))
	}
	return nil
}

func (o eviction) end(ctx context.Context, f *factory.Factory, s *target.Session, seen state.Observation) error {
	m, err := allowed(seen.Cluster, seen.Snapshot, o.member)
	if err != nil {
		return err
	}
	if !m.Database.Evicting {
		fmt.Fprintf(f.Streams.Out, "PD has no evict-leader scheduler for %s; nothing was changed\n", m.Name)
		return nil
	}
	if err := s.Observer.PD().RemoveEvictLeader(ctx, m.Database.ID); err != nil {
		return fmt.Errorf("remove evict-leader scheduler of store %d: %w", m.Database.ID, err)
	}
	fmt.Fprintf(f.Streams.Out, "%s may lead regions again\n", m.Name)
	return nil
}
