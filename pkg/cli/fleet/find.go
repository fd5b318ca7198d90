package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/contexts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/explain"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/harmless"
)

// cluster is one of the clusters that were chosen, and what became of it.
type cluster struct {
	topology.Cluster
	context string // "" without --contexts
	version string // as the TidbCluster had it when it was found
	canary  string // where its rollout stops, "" for nowhere
	watched bool   // the canary restarts members here
	action  string // what is done to it, where that differs between clusters

	want *v1alpha1.TidbCluster // what is asked for
	pd   *cluster              // the part with PD, if this is another part of the same database and both were chosen
	idle bool                  // nothing is to do
	// unconcerned: the request is about something that the cluster does not have. Nothing is to do then.
	unconcerned error
	effects     []string // what is taken away that users may need
	notes       []string // what is to be known before
	verdict     error    // the end of a dry run

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
	all, err := o.read(ctx, f, false)
	if err == nil && len(all) == 0 {
		err = o.none(f)
	}
	return all, err
}

// read reads the clusters. A cluster that cannot be decoded is an error, or counts all the same.
func (o *Options) read(ctx context.Context, f *factory.Factory, malformed bool) ([]*cluster, error) {
	read, err := contexts.Each(ctx, f, &o.contexts, func(ctx context.Context, part *factory.Factory) ([]v1alpha1.TidbCluster, error) {
		_, found, err := o.List(ctx, part)
		if malformed && len(found) > 0 {
			err = nil
		}
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
	slices.SortStableFunc(all, func(a, b *cluster) int {
		return cmp.Or(cmp.Compare(a.context, b.context), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// Single is one of the clusters that a command changes without driving any.
type Single struct {
	// Factory is that of the context. What is written through it begins with the name of the cluster. Asks is for questions.
	Factory, Asks *factory.Factory
	cache.ObjectName
	title string // "" where the command is about one context
}

// Explain returns an error that names the cluster, with a remedy for its context.
func (s Single) Explain(err error) error {
	if err == nil || s.title == "" {
		return err
	}
	return exit.With(exit.Of(err), errors.New(s.title+": "+harmless.Line(remedy.Text(explain.Error(err), s.Factory.Context()))))
}

// Singles returns the clusters of several contexts that the flags choose: all parts of a database, or those that -l, -A
// and --all say.
func (o *Options) Singles(ctx context.Context, f *factory.Factory) ([]Single, error) {
	found, err := o.read(ctx, f, true)
	if err != nil {
		return nil, err
	}
	if o.Name != "" {
		databases, err := o.choose(f, units(found))
		if err != nil {
			return nil, err
		}
		found = flat(databases)
	}
	shared := &contexts.Shared{Streams: f.Streams}
	var all []Single
	for _, c := range found {
		title := c.title("")
		all = append(all, Single{f.In(c.context, shared.For(title)), f.In(c.context, f.Streams), cache.NewObjectName(c.Namespace, c.Name), title})
	}
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

// choose returns the databases that the flags choose: all, or the one that has the cluster of the name.
func (o *Options) choose(f *factory.Factory, databases [][]*cluster) ([][]*cluster, error) {
	see := remedy.Run("see all clusters of a context", remedy.Plugin("", "list", "-A"))
	for _, u := range databases {
		if len(u) > 1 && !u[1].IsPart() {
			return nil, remedy.For(exit.Usagef("%s and %s have the same name, and parts in other contexts join one of them, so nothing was changed: name the contexts of one database",
				u[0].title(f.Context()), u[1].title(f.Context())), see)
		}
	}
	if o.Name == "" {
		return databases, nil
	}
	var chosen [][]*cluster
	var at []string
	for _, u := range databases {
		if i := slices.IndexFunc(u, func(c *cluster) bool { return c.Name == o.Name }); i >= 0 {
			chosen, at = append(chosen, u), append(at, u[i].title(f.Context()))
		}
	}
	switch len(chosen) {
	case 0:
		return nil, remedy.For(exit.Usagef("no TidbCluster is named %q in the namespaces of these contexts, so nothing was changed", o.Name), see)
	case 1:
		return chosen, nil
	}
	return nil, remedy.For(exit.Usagef("%s are not parts of one database as far as their specs show it, so nothing was changed: name the contexts of one database",
		strings.Join(at, " and ")), see)
}

// units returns the databases, in the order of their first clusters. A database can have several parts: the part that
// the other parts join comes first, because its version is the first to change.
func units(all []*cluster) (databases [][]*cluster) {
	for _, c := range all {
		u, at := []*cluster{c}, len(databases)
		for i, other := range slices.Backward(databases) {
			if slices.ContainsFunc(other, c.sameDatabase) {
				u, at = slices.Concat(other, u), i
				databases = slices.Delete(databases, i, i+1)
			}
		}
		databases = slices.Insert(databases, at, u)
	}
	for _, u := range databases {
		slices.SortStableFunc(u, func(a, b *cluster) int { return cmp.Compare(a.order(), b.order()) })
		for _, c := range u[1:] {
			if !u[0].IsPart() {
				c.pd = u[0]
			}
		}
	}
	return databases
}

// sameDatabase reports whether two clusters are parts of one database. Over contexts this is seen only where a part says
// that it joins a TidbCluster of another Kubernetes cluster. Names can be the same in production and in staging, so the ids
// that PD has given the databases decide, where both are known.
func (c *cluster) sameDatabase(other *cluster) bool {
	if mine, theirs := c.databaseID(), other.databaseID(); mine != "" && theirs != "" && mine != theirs {
		return false
	}
	return c.SameDatabase(other.Cluster) && (c.context == other.context || c.JoinsAcross() || other.JoinsAcross())
}

func (c *cluster) databaseID() string {
	if c.Source == nil {
		return ""
	}
	return c.Source.Status.ClusterID
}

// order is the place of a part in its database: first the part that others join, then parts with members of PD.
func (c *cluster) order() int {
	switch {
	case !c.IsPart():
		return 0
	case c.HasPD():
		return 1
	}
	return 2
}
