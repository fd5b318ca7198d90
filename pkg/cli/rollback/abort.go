package rollback

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/fleet"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// NewAbort makes the command that takes back a change that is under way.
func NewAbort(f *factory.Factory) *cobra.Command {
	return commandAbort(f, func(ctx context.Context, o options) error { return abort(ctx, f, o) })
}

func commandAbort(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "abort NAME",
		Short: "Stop the change that is under way, and take it back",
		Long: `Stop the change that is under way, and take it back, as "rollback" does. What drives
the cluster, here or elsewhere, ends its current step and then goes the other way; members
that have changed already change back.

With --contexts it takes back the last change of each part of a database, where something is
under way. The question before it shows these changes.

If nothing is under way, it says so and changes nothing. To take back a change that is
complete, use "rollback"; to stop for a while only, use "pause".`,
		Example: `  kubectl tidb abort basic

  # See what would be taken back
  kubectl tidb abort basic --dry-run

  # In all parts of a database over several Kubernetes clusters
  kubectl tidb abort basic --contexts 'prod-*'`,
		SuggestFor:        []string{"cancel", "stop"},
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE:              o.runE(run),
	}
	o.bind(cmd)
	o.fleet.BindParts(cmd, f, "Take back what is under way in")
	return cmd
}

func abort(ctx context.Context, f *factory.Factory, o options) error {
	if o.fleet.Chosen() {
		return fleet.Drive(ctx, f, o.fleet, o.Options, o.name, fleet.Verb{Action: "abort", GoOn: "sync", Request: o.underway})
	}
	return stop(ctx, f, o, "abort", func(*v1alpha1.TidbCluster, check.Underway) error { return nil })
}

// underway asks for the end of what is under way in one part of a database. A part that has converged has nothing to do.
func (o options) underway(ctx context.Context, _ *factory.Factory, s *target.Session, now *v1alpha1.TidbCluster) (check.Request, error) {
	under, err := check.ReadUnderway(ctx, s, now)
	if err != nil {
		return check.Request{}, err
	}
	if len(under.Left) == 0 {
		return check.Request{}, &fleet.NotConcernedError{Cluster: now, Fine: true, Err: errors.New("nothing is under way")}
	}
	return lastChange(s, now, "abort of ", remedy.Run("stop it for a while", topology.New(now).Plugin("pause")))
}

// stop takes back what is under way. Refuse returns why that is not what the person means.
func stop(ctx context.Context, f *factory.Factory, o options, verb string, refuse func(*v1alpha1.TidbCluster, check.Underway) error) error {
	s, now, err := target.Load(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer s.Close()
	under, err := check.ReadUnderway(ctx, s, now)
	if err != nil {
		return err
	}
	if len(under.Left) == 0 {
		return drive.Unneeded(f, s, o.Options, verb, "nothing is under way, so nothing was changed")
	}
	if err := refuse(now, under); err != nil {
		return err
	}
	o.tell(f, now, under)
	return takeBackLastChange(ctx, f, s, o, now, verb+" of ", remedy.Run("stop it for a while", topology.New(now).Plugin("pause")))
}

// tell prints what is under way, which is about to be taken back.
func (o options) tell(f *factory.Factory, now *v1alpha1.TidbCluster, u check.Underway) {
	if !o.Output.JSON() {
		fmt.Fprintf(f.Streams.ErrOut, "under way in cluster %s/%s: %s\n", now.Namespace, now.Name, strings.Join(u.Left, "; "))
	}
}
