package maintenance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/consent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/spin"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/wait"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/hosts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
)

// start are the flags and the argument of "start".
type start struct {
	node    string
	timeout time.Duration
	yes     bool
	dryRun  flags.DryRun
}

func startCommand(f *factory.Factory, run func(context.Context, start) error) *cobra.Command {
	var o start
	cmd := &cobra.Command{
		Use:   "start NODE",
		Short: "Check that a node may be rebooted, and move leaders off it",
		Long: `Check that a node may be rebooted, and move leaders off it.

All clusters with members on the node are checked before anything is changed, in all
namespaces, or in that of -n. It is refused where PD or regions would lose their quorum, or
leaders could go nowhere, where another member is down or PD does not answer, and while a run
or a tidb-operator drives one of them. It asks before a service stops that no other node has.

Then the node is cordoned, PD is led from another node, and region leaders leave the stores.
An annotation of the Node records that, for "stop". After an interrupt the same command goes
on. Pods stay on the node: they come back with it.`,
		Example: `  # See whether it would be refused, and what would be done
  kubectl tidb maintenance start node-1 --dry-run

  kubectl tidb maintenance start node-1
  # reboot node-1
  kubectl tidb maintenance stop node-1`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeNode(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.timeout < 0 {
				return exit.Usagef("--timeout must not be negative")
			}
			o.node = args[0]
			return run(cmd.Context(), o)
		},
	}
	flags.BindTimeout(cmd, &o.timeout, 0, "Stop waiting after this long, e.g. 30m. Zero waits for ever.")
	o.dryRun.Bind(cmd)
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "Do not ask about services that stop.")
	return cmd
}

func (o start) run(ctx context.Context, f *factory.Factory) error {
	ctx, cancel := exit.Within(ctx, o.timeout)
	defer cancel()
	kube, err := f.Kube()
	if err != nil {
		return err
	}
	shown := spin.On(f, "looking for clusters with members on node "+o.node)
	found, others, err := find(ctx, f, kube, o.node)
	shown.Stop()
	if err != nil {
		return err
	}
	for _, p := range others {
		fmt.Fprintf(f.Streams.ErrOut, "warning: pod %s was not checked: there is no TidbCluster that it belongs to\n", p)
	}
	w := newWork(f, kube, o.node)
	defer w.close()
	s := starting{work: w, found: found, by: lease.Self().Person(), now: f.Clock.Now, out: f.Streams.Out, context: f.Context(), dryRun: o.dryRun}
	if !o.yes {
		s.agree = func(q consent.Question) error { return consent.Ask(ctx, f, q) }
	}
	return exit.Ended(ctx, s.run(ctx))
}

// starting is a start that goes on.
type starting struct {
	*work
	found   []hosts.Cluster
	by      string
	now     func() time.Time
	agree   func(consent.Question) error // nil: it is agreed to
	out     io.Writer
	context string
	dryRun  flags.DryRun
}

// rounds is how often leaders are moved that have come back while others were waited for.
const rounds = 5

func (s *starting) run(ctx context.Context) error {
	h, err := s.node.read(ctx)
	if err != nil {
		return err
	}
	if len(s.found) == 0 && h.Record == nil {
		fmt.Fprintf(s.out, "%s has no member of a cluster; nothing was changed\n", h.Name)
		return nil
	}
	sights, err := s.look(ctx, s.found)
	if err != nil {
		return err
	}
	if err := s.check(ctx, h, sights); err != nil {
		return err
	}
	if s.dryRun != flags.NoDryRun {
		return s.preview(ctx, h, sights)
	}
	if err := s.ask(h, sights); err != nil {
		return err
	}
	for range rounds {
		sights, actions, err := s.act(ctx)
		if err != nil {
			return err
		}
		if len(actions) == 0 {
			return s.told(ctx, h, sights)
		}
		for _, at := range sights {
			if err := s.await(ctx, h, at, actions); err != nil {
				return err
			}
		}
	}
	return exit.With(exit.TimedOut, errors.New("leaders come back again and again; the same command goes on"))
}

// await waits for what follows from the actions in a cluster. It waits for PD's schedulers after PD's leader has
// moved, else until the stores on the host lead no regions.
func (s *starting) await(ctx context.Context, h hosts.Host, at hosts.Sight, actions []hosts.Action) error {
	stores := h.Evicted(at)
	if len(stores) == 0 {
		return nil
	}
	goal := wait.NoLeaders(stores...)
	if slices.ContainsFunc(actions, func(a hosts.Action) bool { _, moves := a.(hosts.MoveLeader); return moves }) {
		goal = wait.Schedulers()
	}
	return s.clusters[at.Cluster.Namespace+"/"+at.Cluster.Name].wait(ctx, goal)
}

// act checks and changes the clusters, while no other run changes them, and returns what it has done.
func (s *starting) act(ctx context.Context) ([]hosts.Sight, []hosts.Action, error) {
	release, err := s.holdAll(ctx, s.found)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	h, err := s.node.read(ctx)
	if err != nil {
		return nil, nil, err
	}
	sights, err := s.look(ctx, s.found)
	if err != nil {
		return nil, nil, err
	}
	if err := s.check(ctx, h, sights); err != nil {
		return nil, nil, s.begun(h, err)
	}
	actions := h.Start(sights, s.by, s.now())
	return sights, actions, s.do(ctx, actions)
}

// begun adds to an error what takes back what was done already.
func (s *starting) begun(h hosts.Host, err error) error {
	if h.Record == nil {
		return err
	}
	return remedy.For(err, remedy.Run("to take back what was done before", stopIt(h.Name)))
}

func stopIt(node string) remedy.Command { return remedy.Plugin("", "maintenance", "stop", node) }

// ask asks about services that stop.
func (s *starting) ask(h hosts.Host, sights []hosts.Sight) error {
	for _, at := range sights {
		effects := h.Stops(at)
		if len(effects) == 0 || s.agree == nil {
			continue
		}
		c := at.Cluster
		q := consent.Question{
			Namespace: c.Namespace, Name: c.Name, Effects: effects,
			Doing: fmt.Sprintf("take down node %s with members of cluster %s/%s", h.Name, c.Namespace, c.Name),
		}
		if err := s.agree(q); err != nil {
			return err
		}
	}
	return nil
}

// told says that the node may be rebooted, and for how long.
func (s *starting) told(ctx context.Context, h hosts.Host, sights []hosts.Sight) error {
	fmt.Fprintf(s.out, "%s may be rebooted: its members lead neither PD nor regions, and the clusters go on without them.\n", h.Name)
	for _, at := range sights {
		c := at.Cluster
		at.Snapshot.PD.MaxStoreDown = s.clusters[c.Namespace+"/"+c.Name].storeDown(ctx)
		var names []string
		for _, m := range h.Members(at) {
			names = append(names, m.Name)
		}
		fmt.Fprintf(s.out, "  %s/%s: %s%s\n", c.Namespace, c.Name, strings.Join(names, ", "), limits(h, at))
	}
	end := remedy.Remedy{remedy.Run("When it is back", stopIt(h.Name))}
	fmt.Fprintf(s.out, "%s\n", end.Line(s.context))
	return nil
}

// limits says after how long something else happens to the members.
func limits(h hosts.Host, at hosts.Sight) string {
	var parts []string
	if down := at.Snapshot.PD.MaxStoreDown; len(h.Evicted(at)) > 0 && down > 0 {
		parts = append(parts, fmt.Sprintf("after %s PD makes new copies of regions", short(down)))
	}
	lost := givenUp(h, at)
	if len(lost) > 0 {
		parts = append(parts, "a daemon gives members up after "+strings.Join(lost, ", "))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, "; ")
}
