// Package doctor is the verb that looks for what is wrong with clusters, or will be. It also mends what was left
// over by runs that were killed.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/contexts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/status"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/claim"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/finding"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/schedule"
)

// options are the verb's flags and its argument.
type options struct {
	target.Found
	name     []string // the argument that names the cluster, if there is one
	fix, yes bool
	output   output.Objects
	contexts contexts.Flag
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error {
		return o.contexts.Show(ctx, f, o.output, "ClusterFindings", func(ctx context.Context, f *factory.Factory) error { return run(ctx, f, o) })
	})
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "doctor [NAME]",
		Short: "Find what is wrong with a cluster, or will be",
		Long: `Look for what is wrong with a cluster, or will be: members that do not serve, what a
run that was killed has left in PD, what is not as the spec asks for, disks of stores
that are nearly full, certificates that end, claims that nobody needs, and what one lost
host or zone would cost. Each finding says what was seen, why it matters, and how to mend
it. Nothing is changed.

With --fix it mends what needs no decision: evict-leader schedulers of a killed run,
and records and marks that are out of date. Of all else it says why it leaves it. It
does that as a run does, as the only driver of the cluster, and asks before.

The exit code is 10 where there is anything to do or anything that could not be read,
and 0 where there is nothing, or only what is good to know.

NAME may be left out where there is only one cluster in the namespace.`,
		Example: `  kubectl tidb doctor basic

  # What a killed run has left
  kubectl tidb doctor basic --fix

  # All clusters of several Kubernetes clusters
  kubectl tidb doctor -A --contexts 'prod-*'

  # All clusters, for a pipeline
  kubectl tidb doctor -A -o json | jq -r '.items[].findings[] | .severity + " " + .id'`,
		SuggestFor:        []string{"check", "diagnose", "health", "lint", "verify"},
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args
			if err := errors.Join(o.Validate(), o.output.Validate(), o.contexts.Validate(cmd.Flags()), o.validate()); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.Bind(cmd, "Check")
	o.output.Bind(cmd)
	o.contexts.Bind(cmd, f, "Check clusters", "fix")
	cmd.Flags().BoolVar(&o.fix, "fix", false, "Mend what needs no decision, and say why the rest is left.")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "With --fix, do not ask.")
	return cmd
}

func (o *options) several() bool { return o.AllNamespaces || o.Selector != "" }

func (o *options) validate() error {
	switch {
	case len(o.name) > 0 && o.several():
		return exit.Usagef("a name does not go with -l or -A: leave out either %s or the flags", o.name[0])
	case o.yes && !o.fix:
		return exit.Usagef("--yes goes with --fix")
	}
	return nil
}

// resolve returns the clusters to look at.
func (o *options) resolve(ctx context.Context, f *factory.Factory) ([]cache.ObjectName, error) {
	if o.several() {
		return (&target.Several{Found: o.Found}).Resolve(ctx, f)
	}
	namespace, name, err := target.Resolve(ctx, f, o.name)
	return []cache.ObjectName{{Namespace: namespace, Name: name}}, err
}

// run looks at each cluster in turn, because a cluster that cannot be read must not hide the others.
func run(ctx context.Context, f *factory.Factory, o options) error {
	names, err := o.resolve(ctx, f)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		fmt.Fprintln(f.Streams.ErrOut, "No TidbClusters found.")
	}
	var items []unstructured.Unstructured
	var failed error
	healthy, printed := true, false
	for _, n := range names {
		r, err := o.one(ctx, f, n)
		if failed = errors.Join(failed, err); r == nil {
			continue
		}
		healthy = healthy && finding.Healthy(r.findings)
		if !o.output.Table() {
			object, err := r.document(f.Context())
			if err != nil {
				return err
			}
			items = append(items, *object)
			continue
		}
		if printed {
			fmt.Fprintln(f.Streams.Out)
		}
		printed = true
		r.print(f.Streams.Out, f.Context(), report.Width(f.Streams.Out))
	}
	if err := o.print(f.Streams.Out, items); err != nil {
		return err
	}
	if failed == nil && !healthy {
		failed = exit.With(exit.Pending, nil) // what is to be done was shown
	}
	return failed
}

// print writes what -o asks for.
func (o *options) print(out io.Writer, items []unstructured.Unstructured) error {
	switch {
	case o.output.Table():
		return nil
	case !o.several() && len(items) == 1:
		return o.output.Print(out, &items[0])
	case !o.several():
		return nil
	}
	return o.output.Print(out, output.List("ClusterFindings", items))
}

// one looks at a cluster, and mends it where that is asked for. With an error there may be a result.
func (o *options) one(ctx context.Context, f *factory.Factory, n cache.ObjectName) (*result, error) {
	s, err := target.Connect(f, n.Namespace, n.Name)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r, err := examine(ctx, f, s)
	if err != nil || !o.fix {
		return r, err
	}
	fixed, failed := o.applyFixes(ctx, f, s, r)
	if len(fixed) == 0 {
		r.fix, r.fixed = true, fixed
		return r, failed
	}
	again, err := examine(ctx, f, s)
	if again == nil {
		return nil, errors.Join(failed, err)
	}
	again.fix, again.fixed = true, fixed
	return again, errors.Join(failed, err)
}

// examine observes a cluster and looks for findings.
func examine(ctx context.Context, f *factory.Factory, s *target.Session) (*result, error) {
	defer s.Spin(f).Stop()
	l, err := Examine(ctx, f, s)
	_, malformed := errors.AsType[*intent.MalformedError](err)
	if err != nil && !malformed {
		return nil, err
	}
	if malformed {
		err = exit.With(exit.Of(err), nil) // it is among the findings
	}
	r := &result{namespace: s.Namespace, name: s.Name, findings: finding.Find(l)}
	// A driver that was killed on another machine looks alive for a while. The lease of the cluster says
	// whether it is, when it is to be mended.
	l.Driver, l.DriverUnread = "", ""
	r.fixes, r.budgets = finding.Fixes(finding.Find(l)), l.Budgets
	return r, err
}

// silent is how long a driver may not have renewed its lease and still be alive. It is two times the time after
// which another process takes the lease over.
const silent = time.Minute

// Examine reads all that findings are made from. With a *intent.MalformedError the rest is there.
func Examine(ctx context.Context, f *factory.Factory, s *target.Session) (finding.Look, error) {
	s.Observer.ReadForUpkeep(observe.Fresh) // nodes have the zones
	seen, err := status.Glance(ctx, s, f.Context())
	if err != nil {
		return finding.Look{}, err
	}
	l := finding.Look{Wanted: seen.Wanted, Snapshot: seen.Snapshot, Plan: seen.Plan}
	if seen.Operator || f.Clock.Now().Sub(seen.Driver.Renewed) < silent && !seen.Driver.Dead() {
		l.Driver = seen.Driver.Describe()
	}
	if _, unread := lease.ReadHolder(ctx, s.Kube, seen.Wanted.Cluster); unread != nil {
		l.DriverUnread = unread.Error()
	}
	l.DDLPaused = s.Observer.DDLPaused(ctx, l.Wanted.Cluster, l.Snapshot)
	l.NodeReports = observe.NodeReports(ctx, s.Kube, l.Snapshot)
	l.LogBackupsUnread = seen.LogBackupsUnread
	claims, pods, unread := observe.Claims(ctx, s.Kube, s.Namespace)
	if unread != nil {
		l.ClaimsUnread = unread.Error()
	}
	l.Claims = claim.Of(l.Wanted, l.Snapshot, claims, pods)
	l.Schedules, unread = schedule.Client{Kube: s.Kube, Namespace: s.Namespace}.List(ctx, s.Name)
	if unread != nil {
		l.SchedulesUnread = unread.Error()
	}
	l.Budgets, unread = observe.Budgets(ctx, s.Kube, s.Namespace)
	if unread != nil {
		l.BudgetsUnread = unread.Error()
	}
	return l, seen.Unreadable
}
