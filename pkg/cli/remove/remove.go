// Package remove is the verb "delete": it deletes clusters, and their data only when asked to.
package remove

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/spin"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// options are the verb's flags and its arguments.
type options struct {
	target.Several
	yes, claims, wait, ignoreMissing bool
	secrets                          bool // delete the Secrets that this program has made as well
	timeout                          time.Duration
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error { return run(ctx, f, o) })
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "delete (NAME... | -l SELECTOR | --all)",
		Short: "Delete clusters, and keep their data",
		Long: `Delete clusters and wait until their pods are gone. TiDB servers go first, so that
each can end what it is doing, unless a daemon or an operator drives the cluster.
Nothing is deleted before each cluster was looked at, and its name was typed.

What a run has begun in PD and not ended, such as an evict-leader scheduler, is taken
back first. Its claims, and the data in them, stay: a cluster that is created with the same name
goes on with them. Each says in its annotation kubectl-tidb/ran-version which version
has run on it, and a lower one is not started on it. With --delete-pvcs the claims go
too, and nothing brings them back;
that also deletes the claims of a cluster that is gone already.

Secrets with certificates, and Certificates for cert-manager, that "kubectl tidb tls
init" has made stay in any case, and are named with the command that deletes them.`,
		Example: `  kubectl tidb delete basic

  # The data as well, without being asked
  kubectl tidb delete basic --delete-pvcs --yes

  # All clusters of a test
  kubectl tidb delete -l env=test --yes`,
		SuggestFor:        []string{"destroy", "remove", "rm"},
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: target.CompleteAll(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Names = args
			if err := o.validate(); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.Bind(cmd, "Delete")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "Do not ask.")
	cmd.Flags().BoolVar(&o.claims, "delete-pvcs", false, "Delete the claims, and with them the data.")
	cmd.Flags().BoolVar(&o.wait, "wait", true, "Wait until the pods are gone. Without it, Kubernetes deletes all pods at the same time.")
	cmd.Flags().BoolVar(&o.ignoreMissing, "ignore-not-found", false, "A cluster that does not exist is no error.")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "Stop waiting after this long, e.g. 5m; the same command then goes on. Zero waits for ever.")
	return cmd
}

// Everything deletes a cluster with the data, the certificates and the first password, and asks nothing. The caller has made
// the cluster for a while.
func Everything(ctx context.Context, f *factory.Factory, name string) error {
	return run(ctx, f, options{Several: target.Several{Names: []string{name}}, yes: true, claims: true, secrets: true, wait: true, ignoreMissing: true})
}

func (o *options) validate() error {
	switch {
	case o.timeout < 0:
		return exit.Usagef("--timeout must not be negative")
	case o.claims && !o.wait:
		return exit.Usagef("--delete-pvcs does not go with --wait=false: claims are deleted when no pod uses them any more")
	}
	return o.Validate()
}

// run deletes the clusters at the same time, when each may be deleted and the user has agreed to
// each.
func run(ctx context.Context, f *factory.Factory, o options) error {
	all, err := o.find(ctx, f)
	defer func() {
		for _, d := range all {
			d.session.Close()
		}
	}()
	if err != nil {
		return err
	}
	for _, d := range all {
		if err := o.confirm(ctx, f, d.session); err != nil {
			return err
		}
	}
	errs := make([]error, len(all))
	shown := spin.On(f, doing(all))
	var each sync.WaitGroup
	for i, d := range all {
		d.say = shown.Say
		each.Go(func() { errs[i] = d.delete(ctx, f, o) })
	}
	each.Wait()
	shown.Stop()
	for _, d := range all {
		fmt.Fprint(f.Streams.Out, d.result)
	}
	return errors.Join(errs...)
}

// find returns what is to be deleted. With an error nothing may be.
func (o options) find(ctx context.Context, f *factory.Factory) ([]*deletion, error) {
	names, err := o.Resolve(ctx, f)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		fmt.Fprintln(f.Streams.ErrOut, "No TidbClusters found.")
	}
	var all []*deletion
	var errs []error
	for _, n := range names {
		d, err := o.prepare(ctx, f, n, names)
		if intent.Gone(err) && (o.ignoreMissing || len(o.Names) == 0) { // another user has deleted it since
			continue
		}
		if d != nil {
			all = append(all, d)
		}
		errs = append(errs, err)
	}
	return all, errors.Join(errs...)
}

func doing(all []*deletion) string {
	if len(all) == 1 {
		return "deleting " + target.Title(all[0].cluster)
	}
	return "deleting " + count(len(all), "cluster")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
