package remove

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
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
	if err := d.usedElsewhere(ctx, parts, together); err != nil {
		return err
	}
	if !d.cluster.Founds() && !d.databaseGoes(ctx, goes) {
		return d.emptied(ctx, together)
	}
	return nil
}

// databaseGoes reports whether the same command deletes the TidbCluster that has started the database. Where the part joins
// another part, the database stays. In another Kubernetes cluster, the joined TidbCluster can have the namespace and the
// name of the part itself.
func (d *deletion) databaseGoes(ctx context.Context, goes func(namespace, name string) bool) bool {
	j := d.cluster.Joined
	if !d.cluster.IsPart() || !d.cluster.JoinsHere() && j.Domain != d.cluster.Domain || !goes(j.Namespace, j.Name) {
		return false
	}
	tc, err := d.session.Intent.LoadOther(ctx, j.Namespace, j.Name)
	return err == nil && topology.New(tc).Founds()
}

// usedElsewhere refuses to delete a cluster with PD which members of other TidbClusters use. PD knows these, because
// TidbClusters that have joined by addresses of PD are recorded nowhere here. If PD does not answer, or cannot be asked, the
// deletion goes on. Most clusters have no parts, and a user has to be able to delete a cluster that is broken. A cluster
// with parts in other Kubernetes clusters stays. While the link to these is cut, PD may have no quorum here and serve them.
func (d *deletion) usedElsewhere(ctx context.Context, parts intent.Parts, together []cache.ObjectName) error {
	refuse := func(format string, args ...any) error {
		return exit.With(exit.Refused, remedy.For(
			fmt.Errorf("%s is not deleted: %s", target.Title(d.cluster), fmt.Sprintf(format, args...)),
			remedy.Run("see which TidbClusters these are, as a user who may read all namespaces", remedy.Kubectl("", "get", "tidbclusters", "--all-namespaces")),
			remedy.Say("remove stores from PD that are gone for good")))
	}
	switch in := topology.PartsIn(d.tc); {
	case d.cluster.UsesOtherPD():
		return nil
	case parts.Unread && len(in) > 0:
		return refuse("parts in namespaces %s may use its PD, and not all TidbClusters there can be read", strings.Join(in, ", "))
	}
	if !d.cluster.Founds() {
		return nil // PD lists members of the database that it joins in any case
	}
	seen, err := d.session.Observer.Against(ctx, d.cluster)
	pd := seen.Snapshot.PD
	switch unknown := err != nil || !pd.Known(); {
	case unknown && d.cluster.HasHadPartsAcross():
		return exit.With(exit.Refused, remedy.For(
			fmt.Errorf("%s is not deleted: it is not known whether parts in other Kubernetes clusters use its PD: %s", target.Title(d.cluster), cmp.Or(pd.Problem, fmt.Sprint(err))),
			remedy.Run("see what PD lacks", d.cluster.Plugin("doctor")),
			remedy.Run("if there is no other part", d.cluster.Kubectl("delete", "tidbclusters", d.cluster.Name))))
	case err != nil:
		return nil //nolint:nilerr // a user who deletes may not have the right to observe
	}
	if !parts.MayBeMore() {
		pd = whatServes(pd) // nobody says that there are parts, so that members which are gone hold nothing up
	}
	if others := strangers(pd, d.cluster.Domain, together); len(others) > 0 {
		return refuse("PD lists members of clusters that stay: %s", remedy.FirstFew(others, ", "))
	}
	return nil
}

// whatServes leaves only those members of other TidbClusters in what is known of PD that may serve. A store that PD has not
// heard of for a moment may, because each new leader of PD calls stores Disconnected at first.
func whatServes(pd state.PD) state.PD {
	pd.OtherStores = slices.DeleteFunc(slices.Clone(pd.OtherStores), func(s state.OtherStore) bool {
		return s.State == state.StoreDown || s.State == state.StoreTombstone
	})
	pd.OtherVoters = slices.DeleteFunc(slices.Clone(pd.OtherVoters), func(v state.OtherVoter) bool { return !v.Healthy })
	return pd
}

// strangers returns the hosts of members in PD that belong to none of some clusters, sorted. Members in other Kubernetes
// clusters can have the names of members here, and another domain.
func strangers(pd state.PD, domain string, clusters []cache.ObjectName) (hosts []string) {
	here := func(rest, service string) bool {
		return strings.HasSuffix(rest, service) || domain != "" && strings.HasSuffix(rest, service+"."+domain)
	}
	ours := func(host string) bool {
		return slices.ContainsFunc(clusters, func(n cache.ObjectName) bool {
			pod, rest, _ := strings.Cut(host, ".")
			_, _, is := topology.Cluster{Namespace: n.Namespace, Name: n.Name}.Member(pod)
			return is && here(rest, "."+n.Namespace+".svc")
		})
	}
	for _, s := range pd.OtherStores {
		hosts = append(hosts, s.Host)
	}
	for _, v := range pd.OtherVoters {
		if host := v.Host(); host != "" {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	return slices.DeleteFunc(hosts, ours)
}

// emptied refuses to delete a part whose members PD counts on. Where PD does not answer, that is unknown. Members of PD
// leave as a part of the deletion. A cluster that has joined a PD by addresses is the whole database by now if PD lists no
// member elsewhere.
func (d *deletion) emptied(ctx context.Context, together []cache.ObjectName) error {
	if d.cluster.HasLeft() {
		return nil
	}
	if d.cluster.JoinsHere() {
		if _, err := d.session.Intent.LoadOther(ctx, d.cluster.Joined.Namespace, d.cluster.Joined.Name); intent.Gone(err) {
			return nil // the database is gone
		}
	}
	seen, err := d.session.Observer.Against(ctx, d.cluster)
	if err != nil {
		return err
	}
	switch pd := seen.Snapshot.PD; {
	case !pd.Known():
		return d.refuseUnknown(pd.Problem)
	case !pd.Bootstrapped && d.tc.Status.TiKV.BootStrapped:
		return d.refuseUnknown("PD has not loaded its stores yet")
	case !d.cluster.IsPart() && len(strangers(pd, d.cluster.Domain, together)) == 0:
		return nil
	}
	var counted, empty []string
	for _, k := range topology.Kinds() {
		n := 0
		for _, m := range seen.Snapshot.Groups[k].Members {
			switch {
			case k.Data() == topology.None || !m.CountedOn():
			case k.Votes():
				d.inPD = true
			default:
				counted, n = append(counted, m.Name), n+1
			}
		}
		if n > 0 {
			empty = append(empty, string(k)+"=0")
		}
	}
	if len(counted) == 0 {
		return d.mayLeave(seen.Snapshot)
	}
	return exit.With(exit.Refused, remedy.For(
		fmt.Errorf("%s is not deleted: %s counts on %s", target.Title(d.cluster), d.cluster.JoinedPD(), strings.Join(counted, ", ")),
		remedy.Run("have their data move to the other parts first", d.cluster.Plugin("scale", empty...))))
}

// refuseUnknown refuses to delete a part of which nobody can say whether PD counts on its members. A part that has never
// joined has no id of the database.
func (d *deletion) refuseUnknown(problem string) error {
	help := remedy.Remedy{remedy.Run("see what PD lacks", d.cluster.PDPart().Plugin("doctor"))}
	anyway := d.cluster.Kubectl("delete", "tidbclusters", d.cluster.Name)
	switch {
	case d.tc.Status.ClusterID == "":
		help = append(help, remedy.Run("if no member has ever joined", anyway))
	case !d.cluster.IsPart():
		help = append(help, remedy.Run("if all members of the database are in this cluster by now", anyway))
	}
	return exit.With(exit.Refused, remedy.For(
		fmt.Errorf("%s is not deleted: it is not known whether %s counts on its members: %s", target.Title(d.cluster), d.cluster.JoinedPD(), problem), help...))
}

// mayLeave refuses to delete a part without whose members PD would have no quorum.
func (d *deletion) mayLeave(s state.Snapshot) error {
	if _, why := plan.Leave(s); d.inPD && why != "" {
		return exit.With(exit.Refused, remedy.For(
			fmt.Errorf("%s is not deleted: %s", target.Title(d.cluster), why),
			remedy.Say("have more members of PD in the other parts, and bring all of them up, first")))
	}
	return nil
}
