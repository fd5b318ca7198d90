package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/contexts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// cluster is one of the clusters that were chosen, and what became of it.
type cluster struct {
	topology.Cluster
	context string // "" without --contexts
	version string // as the TidbCluster had it when it was found

	want    *v1alpha1.TidbCluster // what is asked for
	pd      *cluster              // the part with PD, if this is another part of the same database and both were chosen
	idle    bool                  // nothing is to do
	effects []string              // what is taken away that users may need
	notes   []string              // what is to be known before
	verdict error                 // the end of a dry run

	begun bool
	err   error // why the cluster was refused, or how its run ended
}

// title names the cluster, with its context if there is one.
func (c *cluster) title(current string) string {
	name := c.Namespace + "/" + c.Name
	if in := cmp.Or(c.context, current); in != "" {
		return in + " " + name
	}
	return name
}

// find returns the clusters in the order of contexts, namespaces and names. It fails where a context cannot be read:
// which clusters there are is not known then.
func (o *Options) find(ctx context.Context, f *factory.Factory) ([]*cluster, error) {
	read, err := contexts.Each(ctx, f, &o.contexts, func(ctx context.Context, part *factory.Factory) ([]v1alpha1.TidbCluster, error) {
		_, found, err := o.List(ctx, part)
		return found, err
	})
	if err == nil {
		err = contexts.Ended(read)
	}
	if err != nil {
		return nil, exit.With(exit.Of(err), fmt.Errorf("%w; nothing was changed", err))
	}
	var all []*cluster
	for _, r := range read {
		for i := range r.Value {
			all = append(all, &cluster{Cluster: topology.New(&r.Value[i]), context: r.Context, version: r.Value[i].Spec.Version})
		}
	}
	if len(all) == 0 {
		return nil, o.none(f)
	}
	slices.SortStableFunc(all, func(a, b *cluster) int {
		return cmp.Or(cmp.Compare(a.context, b.context), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// none refuses a command that has found no cluster: a label that is written wrong must not look like success.
func (o *Options) none(f *factory.Factory) error {
	what, where := "there is no TidbCluster", ""
	if o.Selector != "" {
		what = fmt.Sprintf("no TidbCluster has the labels %q", o.Selector)
	}
	if !o.AllNamespaces {
		namespace, err := f.Namespace()
		if err != nil {
			return err
		}
		where = " in namespace " + namespace
		if o.contexts.Given() && *f.Flags.Namespace == "" {
			where = " in the namespaces of these contexts"
		}
	}
	return remedy.For(exit.Usagef("%s%s, so nothing was changed", what, where), remedy.Run("see all clusters of a context", remedy.Plugin("", "list", "-A")))
}

// units returns the databases, in the order of their first clusters. A database can have several parts: the part with
// PD comes first, because its version is the first to change.
func units(all []*cluster) [][]*cluster {
	var order []string
	parts := map[string][]*cluster{}
	for _, c := range all {
		key := c.context + "\n" + c.Namespace + "/" + c.Name
		if c.IsPart() {
			key = c.context + "\n" + c.Joined.String()
		}
		if parts[key] == nil {
			order = append(order, key)
		}
		parts[key] = append(parts[key], c)
	}
	var databases [][]*cluster
	for _, key := range order {
		u := parts[key]
		slices.SortStableFunc(u, func(a, b *cluster) int {
			switch {
			case a.IsPart() == b.IsPart():
				return 0
			case b.IsPart():
				return -1
			}
			return 1
		})
		for _, c := range u[1:] {
			if !u[0].IsPart() {
				c.pd = u[0]
			}
		}
		databases = append(databases, u)
	}
	return databases
}
