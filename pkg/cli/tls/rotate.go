package tls

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/issue"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
)

// rotateOptions are the flags and the argument of "tls rotate".
type rotateOptions struct {
	flags.Options
	name []string
	ca   bool
	life time.Duration
}

func newRotate(f *factory.Factory) *cobra.Command {
	return rotateCommand(f, func(ctx context.Context, o rotateOptions) error { return runRotate(ctx, f, o) })
}

func rotateCommand(f *factory.Factory, run func(context.Context, rotateOptions) error) *cobra.Command {
	var o rotateOptions
	cmd := &cobra.Command{
		Use:   "rotate NAME",
		Short: "Have new certificates issued",
		Long: `Have new certificates issued for the Secrets that "kubectl tidb tls init" has made, by the
same authority, and wait until each member shows the new one: Kubernetes takes a minute or
two to give a changed Secret to pods. Certificates of cert-manager are renewed by
cert-manager.

With --ca the authorities are replaced as well, in three stages, with a restart of all
members, one after another, in each: everybody trusts both authorities; certificates are
issued by the new one; nobody trusts the old one any more. SQL clients need the new
authority, in ca.crt of the Secret NAME-tidb-client-secret, before the second stage. When
it is interrupted, the same command goes on with the stage that it has reached.`,
		Example: `  kubectl tidb tls rotate basic
  kubectl tidb tls rotate basic --ca`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args
			if err := o.Validate(); err != nil {
				return err
			}
			if o.DryRun != flags.NoDryRun {
				return exit.Usagef("--dry-run does not go with tls rotate; kubectl tidb tls check changes nothing")
			}
			if err := o.Stay("tls rotate"); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.Bind(cmd)
	o.BindFieldManager(cmd)
	o.BindEviction(cmd)
	o.BindConcurrency(cmd)
	cmd.Flags().BoolVar(&o.ca, "ca", false, "Replace the authorities, too.")
	cmd.Flags().DurationVar(&o.life, "valid-for", issue.Life, "How long the certificates are valid.")
	return cmd
}

func runRotate(ctx context.Context, f *factory.Factory, o rotateOptions) error {
	s, tc, err := target.Load(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer s.Close()
	c := topology.New(tc)
	if !c.TLS.Members && !c.TLS.SQL {
		return exit.Refusef("cluster %s/%s has no TLS, so nothing was changed", c.Namespace, c.Name)
	}
	self, err := issuer(ctx, f, s, c, o.life, false)
	if err != nil {
		return err
	}
	if o.ca {
		if err := oneAuthority(ctx, s, c); err != nil {
			return err
		}
		ctx, cancel := exit.Within(ctx, o.Timeout) // all stages together
		defer cancel()
		// Each stage begins when all members have restarted since the one before.
		same := check.Request{Action: "sync before the authorities are replaced", Change: intent.Change{Now: tc, Want: tc}}
		if err := drive.Run(ctx, f, s, o.Options, same); err != nil {
			return err
		}
		return replaceAuthorities(ctx, f, s, self, o)
	}
	renewed, left, err := self.Renew(ctx)
	for _, name := range renewed {
		fmt.Fprintf(f.Streams.Out, "secret/%s renewed\n", name)
	}
	switch {
	case err != nil:
		return refusal(c, err)
	case len(renewed) == 0:
		return exit.Refusef("no certificate of cluster %s/%s was made by kubectl tidb tls init, so nothing was changed; renew them with the tool that made them", c.Namespace, c.Name)
	case len(left) > 0:
		fmt.Fprintf(f.Streams.ErrOut, "Left as they are, since others have made them: %s\n", strings.Join(left, ", "))
	}
	return taken(ctx, f.Streams.ErrOut, c, o.Timeout, func(ctx context.Context) ([]observe.Served, error) {
		seen, err := s.Observer.Against(ctx, c)
		if err != nil {
			return nil, err
		}
		return observe.ReadServed(ctx, s.Dialer, c, seen.Snapshot), nil
	})
}

// takenWithin is how long members have to show a new certificate. A kubelet looks at Secrets once a minute or so,
// and a process reads its files at the next connection.
const takenWithin = 5 * time.Minute

// taken waits until all members show the certificate in their Secret, as served says. The Secrets are renewed already,
// so an observation that fails is tried again.
func taken(ctx context.Context, log io.Writer, c topology.Cluster, timeout time.Duration, served func(context.Context) ([]observe.Served, error)) error {
	if timeout <= 0 {
		timeout = takenWithin
	}
	ctx, cancel := exit.Within(ctx, timeout)
	defer cancel()
	var older []string
	var unread error // the last observation failed
	err := wait.PollUntilContextCancel(ctx, 2*time.Second, true, func(ctx context.Context) (bool, error) {
		members, err := served(ctx)
		if unread = err; err != nil {
			return false, nil
		}
		var still []string
		for _, m := range members {
			if older, known := m.Older(); older || !known {
				still = append(still, m.Member)
			}
		}
		if len(still) > 0 && !slices.Equal(still, older) {
			fmt.Fprintf(log, "Waiting for members to show the new certificate: %s\n", strings.Join(still, ", "))
		}
		older = still
		return len(still) == 0, nil
	})
	if err = exit.Ended(ctx, err); unread != nil && exit.Of(err) == exit.TimedOut {
		return remedy.For(exit.With(exit.TimedOut, fmt.Errorf("the Secrets are renewed, but it could not be seen within %s whether all members show the new certificates: %w", timeout, unread)),
			remedy.Run("see which they show", remedy.Plugin(c.Namespace, "tls", "check", c.Name)))
	}
	if len(older) > 0 && exit.Of(err) == exit.TimedOut {
		return remedy.For(exit.With(exit.TimedOut, fmt.Errorf("these members do not show the new certificate after %s: %s", timeout, strings.Join(older, ", "))),
			remedy.Run("see which they show", remedy.Plugin(c.Namespace, "tls", "check", c.Name)),
			remedy.Run("restart members one after another", c.Plugin("restart")))
	}
	return err
}

// replaceAuthorities goes through the stages that are left.
func replaceAuthorities(ctx context.Context, f *factory.Factory, s *target.Session, self *issue.Self, o rotateOptions) error {
	at, err := self.Progress(ctx)
	if err != nil {
		return err
	}
	stages := issue.Stages()
	for i := max(slices.Index(stages, at.Stage), 0); i < len(stages); i++ {
		if err := self.Advance(ctx, stages[i], f.Clock.Now()); err != nil {
			return err
		}
		if at, err = self.Progress(ctx); err != nil {
			return err
		}
		now, err := s.Load(ctx)
		if err != nil {
			return err
		}
		var kinds []topology.Kind
		for _, g := range topology.New(now).Groups {
			kinds = append(kinds, g.Kind)
		}
		r := check.Request{Action: fmt.Sprintf("replace authorities, stage %d of %d (%s)", i+1, len(stages), stages[i]), Unrecorded: true}
		// The time is when the stage began. If all members have restarted since, nothing restarts again.
		r.Change, r.Refusal = s.Intent.Restart(now, kinds, nil, at.Since)
		if err := drive.Run(ctx, f, s, o.Options, r); err != nil {
			return err
		}
	}
	return self.Finish(ctx)
}
