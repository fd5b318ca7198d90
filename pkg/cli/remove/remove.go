// Package remove is the verb "delete": it deletes a cluster, and its data only when asked to.
package remove

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// options are the verb's flags and its argument.
type options struct {
	name        []string // the argument that names the cluster
	yes, claims bool
	timeout     time.Duration
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error { return run(ctx, f, o) })
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a cluster, and keep its data",
		Long: `Delete a cluster and wait until its pods are gone. TiDB servers go first, so that
each can end what it is doing, unless a daemon or an operator drives the cluster.

Its claims, and the data in them, stay: a cluster that is created with the same name
goes on with them. Each says in its annotation kubectl-tidb/ran-version which version
has run on it, and a lower one is not started on it. With --delete-pvcs the claims go
too, and nothing brings them back;
that also deletes the claims of a cluster that is gone already.`,
		Example: `  kubectl tidb delete basic

  # The data as well, without being asked
  kubectl tidb delete basic --delete-pvcs --yes`,
		SuggestFor:        []string{"destroy", "remove", "rm"},
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.timeout < 0 {
				return exit.Usagef("--timeout must not be negative")
			}
			o.name = args
			return run(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "Do not ask.")
	cmd.Flags().BoolVar(&o.claims, "delete-pvcs", false, "Delete the claims, and with them the data.")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "Stop waiting after this long, e.g. 5m; the same command then goes on. Zero waits for ever.")
	return cmd
}

func run(ctx context.Context, f *factory.Factory, o options) error {
	s, err := target.Open(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer s.Close()
	tc, err := s.Load(ctx)
	if bad, malformed := errors.AsType[*intent.MalformedError](err); malformed {
		tc, err = bad.Cluster, nil // a deletion does not need its configurations
	}
	if _, gone := errors.AsType[*intent.NotFoundError](err); gone {
		return o.goOn(ctx, f, s, err)
	}
	if err != nil {
		return err
	}
	c := topology.New(tc)
	if !o.claims {
		if err := (remains{kube: s.Kube, cluster: c}).keepsData(ctx); err != nil {
			return err
		}
	}
	if err := o.confirm(ctx, f, s); err != nil {
		return err
	}
	meta, err := f.Metadata()
	if err != nil {
		return err
	}
	waits, cancel := o.patience(ctx)
	defer cancel()
	release := remains{kube: s.Kube, meta: meta, cluster: c}.serversFirst(waits)
	defer release()
	if ctx.Err() != nil {
		return undeleted(ctx, c)
	}
	if err := s.Intent.Delete(ctx, tc, intent.Write{}); err != nil {
		return err
	}
	release()
	return o.finish(waits, f, s, c)
}

// patience returns a context that ends when the user does not wait any longer.
func (o options) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.timeout > 0 {
		return context.WithTimeoutCause(ctx, o.timeout, exit.ErrTimedOut)
	}
	return context.WithCancel(ctx)
}

// goOn completes what an earlier run began, if anything is left to do.
func (o options) goOn(ctx context.Context, f *factory.Factory, s *drive.Session, missing error) error {
	c := topology.New(&v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}})
	rest := remains{kube: s.Kube, cluster: c}
	pods, err := rest.pods(ctx)
	if err != nil {
		return err
	}
	claims, err := rest.claims(ctx)
	if err != nil {
		return err
	}
	if len(pods) == 0 && (len(claims) == 0 || !o.claims) {
		return missing
	}
	if err := o.confirm(ctx, f, s); err != nil {
		return err
	}
	ctx, cancel := o.patience(ctx)
	defer cancel()
	return o.finish(ctx, f, s, c)
}

// finish waits until the last pod has stopped. Then it deletes the claims, or
// says that they are there.
func (o options) finish(ctx context.Context, f *factory.Factory, s *drive.Session, c topology.Cluster) error {
	meta, err := f.Metadata()
	if err != nil {
		return err
	}
	rest := remains{kube: s.Kube, meta: meta, cluster: c}
	if err := rest.waitForPods(ctx); err != nil {
		return err
	}
	claims, err := rest.claims(ctx)
	if err != nil {
		return exit.Ended(ctx, err)
	}
	out := f.Streams.Out
	fmt.Fprintf(out, "cluster %s/%s is deleted\n", s.Namespace, s.Name)
	switch {
	case len(claims) == 0:
	case !o.claims:
		fmt.Fprintf(out, "its data stays, in %s: %s\n", count(len(claims), "claim"),
			c.Kubectl("get", "pvc", "-l", topology.LabelInstance+"="+c.Instance).Line(f.Context()))
	default:
		if err := rest.deleteClaims(ctx, claims); err != nil {
			return exit.Ended(ctx, err)
		}
		fmt.Fprintf(out, "its data is deleted, with %s\n", count(len(claims), "claim"))
	}
	return nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
