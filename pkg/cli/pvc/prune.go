package pvc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/consent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/spin"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/claim"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/act"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

// pruneOptions are the flags of prune and its arguments.
type pruneOptions struct {
	name, members          []string
	yes, dryRun, despitePD bool
}

func newPrune(f *factory.Factory) *cobra.Command {
	var o pruneOptions
	cmd := &cobra.Command{
		Use:   "prune NAME [MEMBER...]",
		Short: "Delete claims that nothing keeps, with their data",
		Long: `Delete claims that nothing keeps, with the data in them: of members that were removed,
or of a cluster that was deleted. Nothing brings the data back. Whether a volume goes
with its claim, its reclaim policy says. The name of the cluster has to be typed.

A claim is never deleted while a pod uses it, while its member is wanted, and while a
failover keeps it. One of a member that PD still has, or may have, can hold the last
copy of something: it is deleted only with --despite-pd.

Each claim is deleted only if it has not changed since it was shown.`,
		Example: `  kubectl tidb pvc prune basic --dry-run

  # Of one member
  kubectl tidb pvc prune basic tikv-5

  # Without being asked
  kubectl tidb pvc prune basic --yes`,
		SuggestFor:        []string{"clean", "delete", "gc"},
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: target.CompleteClaims(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.parse(args); err != nil {
				return err
			}
			return o.run(cmd.Context(), f)
		},
	}
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "Do not ask.")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "Only say what would be deleted.")
	cmd.Flags().BoolVar(&o.despitePD, "despite-pd", false, "Delete claims also of members that PD still has, or where it could not be asked.")
	return cmd
}

// parse reads the arguments. Members may be named without the cluster.
func (o *pruneOptions) parse(args []string) error {
	o.name, o.members = args[:1], nil
	c := topology.Cluster{Name: args[0]}
	for _, m := range args[1:] {
		k, n, named := c.Named(m)
		switch {
		case named && n != topology.Every:
			m = c.PodName(k, n)
		case named || !strings.Contains(m, c.Name+"-"):
			return exit.Usagef("%q is no member of %s, nor one of its claims", m, c.Name)
		}
		o.members = append(o.members, m)
	}
	return nil
}

func (o *pruneOptions) run(ctx context.Context, f *factory.Factory) error {
	s, err := target.Open(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer s.Close()
	shown := spin.On(f, "reading claims of "+s.Namespace+"/"+s.Name)
	all, gone, err := ofCluster(ctx, f, s, true)
	shown.Stop()
	if err != nil {
		return err
	}
	chosen, err := o.choose(all)
	if err != nil {
		return err
	}
	switch {
	case len(chosen) == 0:
		fmt.Fprintf(f.Streams.Out, "cluster %s/%s has no claim that may be deleted\n", s.Namespace, s.Name)
		return nil
	case o.dryRun:
		for _, c := range chosen {
			fmt.Fprintf(f.Streams.Out, "would delete %s\n", loss(c))
		}
		return nil
	case !o.yes:
		q := consent.Question{Namespace: s.Namespace, Name: s.Name, Doing: "delete claims of cluster " + s.Namespace + "/" + s.Name}
		for _, c := range chosen {
			q.Effects = append(q.Effects, loss(c))
		}
		if err := consent.Ask(ctx, f, q); err != nil {
			return err
		}
	}
	if gone {
		return o.prune(ctx, f, s, chosen)
	}
	// No pod may come for a claim meanwhile: Kubernetes would delete it with the data in use when the
	// pod ends.
	return drive.Alone(ctx, f, s, func(ctx context.Context, _ reconcile.Engine) error { return o.prune(ctx, f, s, chosen) })
}

// loss says what is lost with a claim.
func loss(c claim.Claim) string {
	return fmt.Sprintf("claim %s, with %s of data of %s: %s", c.Name, max(c.Requested, c.Capacity), c.Member, c.Why)
}

// choose returns the claims to delete. If members are named, these are their claims, which all have to be deletable;
// else all deletable claims.
func (o *pruneOptions) choose(all []claim.Claim) ([]claim.Claim, error) {
	var chosen []claim.Claim
	var problems []string
	found := map[string]bool{}
	for _, c := range all {
		named := slices.Contains(o.members, c.Member) || slices.Contains(o.members, c.Name)
		if len(o.members) > 0 && !named {
			continue
		}
		found[c.Member], found[c.Name] = true, true
		switch {
		case c.Prunable(o.despitePD):
			chosen = append(chosen, c)
		case named:
			problems = append(problems, fmt.Sprintf("claim %s: %s", c.Name, whyKept(c)))
		}
	}
	for _, m := range o.members {
		if !found[m] {
			return nil, exit.Usagef("there is no claim of a member %q", m)
		}
	}
	if len(problems) > 0 {
		return nil, exit.Refusef("nothing was deleted, since not every claim may be: %s", strings.Join(problems, "; "))
	}
	return chosen, nil
}

// whyKept says why a claim stays.
func whyKept(c claim.Claim) string {
	switch c.State {
	case claim.Used:
		return "pod " + c.Pod + " uses it"
	case claim.InPD:
		return c.Why + ", so its data may be needed; --despite-pd deletes it nevertheless"
	}
	return c.Why
}

// prune deletes the claims that were chosen, if the cluster still says that of them.
func (o *pruneOptions) prune(ctx context.Context, f *factory.Factory, s *target.Session, chosen []claim.Claim) error {
	now, _, err := ofCluster(ctx, f, s, true)
	if err != nil {
		return err
	}
	var failed error
	for _, c := range chosen {
		i := slices.IndexFunc(now, func(n claim.Claim) bool { return n.UID == c.UID })
		switch {
		case i < 0:
			continue // somebody else has deleted it
		case now[i].State != c.State:
			failed = errors.Join(failed, exit.Refusef("claim %s was not deleted: %s now", c.Name, whyKept(now[i])))
			continue
		}
		if err := act.PruneClaim(ctx, s.Kube, c.Namespace, step.Claim{Name: c.Name, UID: c.UID}, c.Version); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		fmt.Fprintf(f.Streams.Out, "persistentvolumeclaim/%s deleted\n", c.Name)
	}
	return failed
}
