package pause

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/consent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/fleet"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/ledger"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// common are the flags and arguments of both verbs.
type common struct {
	target.Several
	fleet  fleet.Options
	yes    bool
	dryRun flags.DryRun
}

func (o *common) bind(cmd *cobra.Command, f *factory.Factory, does string) {
	o.Bind(cmd, does)
	o.fleet.BindParts(cmd, f, does)
	o.dryRun.Bind(cmd)
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "Do not ask about a pause that another user or tool has begun.")
}

// validate checks which clusters are meant. Over several contexts a name is that of a part, and all parts are meant.
func (o *common) validate(set *pflag.FlagSet) error {
	if err := o.Validate(); err != nil || !o.fleet.Chosen() {
		return err
	}
	if len(o.Names) > 1 {
		return exit.Usagef("--contexts takes all parts of one cluster: leave out %s, or give -l or --all", strings.Join(o.Names[1:], " "))
	}
	o.fleet.All, o.fleet.Name, o.fleet.Found = len(o.Names) == 0, strings.Join(o.Names, ""), o.Found
	return o.fleet.ValidateContexts(set)
}

// done returns what is said after a change, and in a dry run what would be.
func (o *common) done(is, would string) string {
	if o.dryRun == flags.NoDryRun {
		return is
	}
	return fmt.Sprintf("%s (%s dry run)", would, o.dryRun.String())
}

// change is what is done to one cluster.
type change struct {
	topology.Cluster
	of     fleet.Single
	doing  string
	asks   string // what the user has to agree to before, "" for nothing
	write  func(context.Context, intent.Write) error
	result string
	hint   remedy.Remedy // what ends the pause, or what goes on
	pauses bool
}

// judging returns what is done to a cluster, or why nothing can be.
type judging func(*factory.Factory, *intent.Client, topology.Cluster) (change, error)

// each changes the clusters, when each may be changed and the user has agreed to each.
func (o common) each(ctx context.Context, f *factory.Factory, judge judging) error {
	all, err := o.find(ctx, f, judge)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Fprintln(f.Streams.ErrOut, "No TidbClusters found.")
	}
	for _, ch := range all {
		if ch.asks == "" || o.yes || o.dryRun != flags.NoDryRun {
			continue
		}
		q := consent.Question{Namespace: ch.Namespace, Name: ch.Name, Doing: ch.doing, Effects: []string{ch.asks}}
		if err := consent.Ask(ctx, ch.of.Asks, q); err != nil {
			return err
		}
	}
	var failed []error
	for _, ch := range all {
		failed = append(failed, ch.of.Explain(o.make(ctx, ch)))
	}
	return errors.Join(failed...)
}

// make makes one change, and says what it has changed.
func (o common) make(ctx context.Context, ch change) error {
	f := ch.of.Factory
	if ch.write != nil && o.dryRun != flags.ClientDryRun {
		if err := ch.write(ctx, intent.Write{DryRun: o.dryRun == flags.ServerDryRun}); err != nil {
			return err
		}
	}
	fmt.Fprintln(f.Streams.Out, ch.result)
	if ch.hint != nil && o.dryRun == flags.NoDryRun {
		fmt.Fprintln(f.Streams.ErrOut, ch.hint.Line(f.Context()))
	}
	if ch.pauses {
		begun(ctx, f, ch.Cluster)
	}
	return nil
}

// begun says what a run has begun in PD and in TiDB and not ended. It says so by the records of that, which are read
// after the pause was written. PD itself is not asked: a pause is to be written at once, also while nothing of the
// cluster answers.
func begun(ctx context.Context, f *factory.Factory, c topology.Cluster) {
	say := func(all []desired.Notice) {
		for _, n := range all {
			fmt.Fprintf(f.Streams.ErrOut, "%s: %s\n", cmp.Or(n.Member, n.Component.Title()), n.Text)
			report.Advise(f.Streams.ErrOut, "  ", n.Remedy.In(f.Context()))
		}
	}
	say(plan.BegunInTiDB(c))
	kube, err := f.Kube()
	var book *corev1.ConfigMap
	if err == nil {
		book, err = kube.CoreV1().ConfigMaps(c.Namespace).Get(ctx, c.LedgerMap(), metav1.GetOptions{})
	}
	switch {
	case apierrors.IsNotFound(err):
		return
	case err != nil:
		fmt.Fprintf(f.Streams.ErrOut, "what a run has begun in PD and not ended is not known: read configmap %s: %v\n", c.LedgerMap(), err)
		return
	}
	read := ledger.Read(book)
	say(plan.BegunInPD(c, state.Snapshot{PD: state.PD{Problem: "not asked"}, Evictions: read.Evictions, Removals: read.Removals}))
}

// find returns what is to be changed. With an error nothing may be.
func (o common) find(ctx context.Context, f *factory.Factory, judge judging) ([]change, error) {
	chosen, err := o.choose(ctx, f)
	if err != nil {
		return nil, err
	}
	var all []change
	var failed []error
	for _, c := range chosen {
		client, err := c.Factory.Intent()
		if err != nil {
			return nil, err
		}
		tc, err := client.Load(ctx, c.Namespace, c.Name)
		if bad, ok := errors.AsType[*intent.MalformedError](err); ok {
			tc, err = bad.Cluster, nil // a pause does not depend on its configuration
		}
		switch {
		case intent.Gone(err) && len(o.Names) == 0: // deleted since
			continue
		case err != nil:
			failed = append(failed, c.Explain(err))
			continue
		}
		ch, err := judge(c.Factory, client, topology.New(tc))
		ch.of = c
		all, failed = append(all, ch), append(failed, c.Explain(err))
	}
	return all, errors.Join(failed...)
}

// choose returns the clusters that are meant.
func (o common) choose(ctx context.Context, f *factory.Factory) ([]fleet.Single, error) {
	if o.fleet.Chosen() {
		return o.fleet.Singles(ctx, f)
	}
	names, err := o.Resolve(ctx, f)
	if err != nil {
		return nil, err
	}
	var all []fleet.Single
	for _, n := range names {
		all = append(all, fleet.Single{Factory: f, Asks: f, ObjectName: n})
	}
	return all, nil
}
