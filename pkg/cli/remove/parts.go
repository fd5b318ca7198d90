package remove

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// leaves refuses to delete a part of a database that stays. Without the part that has PD, the members of other parts
// would stop. Members of a part that is deleted would stay registered in PD, and regions would lose copies. Parts that
// are deleted by the same command take nothing from each other.
func (d *deletion) leaves(ctx context.Context, together []cache.ObjectName) error {
	goes := func(namespace, name string) bool {
		return slices.Contains(together, cache.NewObjectName(namespace, name))
	}
	parts, err := d.session.Intent.Parts(ctx, d.cluster)
	if err != nil {
		return err
	}
	for _, c := range parts.Known {
		if !goes(c.Namespace, c.Name) {
			return exit.With(exit.Refused, remedy.For(
				fmt.Errorf("%s is not deleted: the members of %s use its PD", target.Title(d.cluster), target.Title(c)),
				remedy.Run("delete that part first", c.Plugin("delete"))))
		}
	}
	if parts.Unread || len(parts.Claimed) > 0 {
		if err := d.usedElsewhere(ctx); err != nil {
			return err
		}
	}
	if j := d.cluster.Joined; d.cluster.IsPart() && !goes(j.Namespace, j.Name) {
		return d.emptied(ctx)
	}
	return nil
}

// usedElsewhere refuses to delete a cluster whose PD lists members of other clusters, where not all parts are known. A PD that does not answer keeps no user from the deletion of a cluster, because most clusters have no parts.
func (d *deletion) usedElsewhere(ctx context.Context) error {
	seen, err := d.session.Observer.Against(ctx, d.cluster)
	if err != nil {
		return err
	}
	if pd := seen.Snapshot.PD; d.cluster.IsPart() || !pd.Known() || !pd.Shared {
		return nil
	}
	return exit.With(exit.Refused, remedy.For(
		fmt.Errorf("%s is not deleted: PD lists members of other clusters, which may be parts in other namespaces", target.Title(d.cluster)),
		remedy.Run("see which these are, as a user who may read all namespaces", remedy.Kubectl("", "get", "tidbclusters", "--all-namespaces"))))
}

// emptied refuses to delete a part whose members PD counts on. Where PD does not answer, that is unknown.
func (d *deletion) emptied(ctx context.Context) error {
	if _, err := d.session.Intent.Load(ctx, d.cluster.Joined.Namespace, d.cluster.Joined.Name); intent.Gone(err) {
		return nil // the database is gone
	}
	seen, err := d.session.Observer.Against(ctx, d.cluster)
	if err != nil {
		return err
	}
	if pd := seen.Snapshot.PD; !pd.Known() {
		return exit.With(exit.Refused, remedy.For(
			fmt.Errorf("%s is not deleted: it is not known whether PD of %s counts on its members: %s", target.Title(d.cluster), d.cluster.Joined, pd.Problem),
			remedy.Run("see what PD lacks", remedy.Plugin(d.cluster.Joined.Namespace, "doctor", d.cluster.Joined.Name))))
	}
	var counted, empty []string
	for _, k := range topology.Kinds() {
		n := 0
		for _, m := range seen.Snapshot.Groups[k].Members {
			if k.Data() != topology.None && m.CountedOn() {
				counted, n = append(counted, m.Name), n+1
			}
		}
		if n > 0 {
			empty = append(empty, string(k)+"=0")
		}
	}
	if len(counted) == 0 {
		return nil
	}
	return exit.With(exit.Refused, remedy.For(
		fmt.Errorf("%s is not deleted: PD of %s counts on %s", target.Title(d.cluster), d.cluster.Joined, strings.Join(counted, ", ")),
		remedy.Run("have their data move to the other parts first", d.cluster.Plugin("scale", empty...))))
}
