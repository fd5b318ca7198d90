package plan

import (
	"fmt"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// otherPartsSuspended holds back the suspension of PD, and of the data that PD places, until no member of another part
// runs. They are known only where PD is to be suspended. Members of other parts fail without PD, and their regions may have
// no quorum without the stores here. A store in PD that is Up, or a healthy member of PD, may be one of a part that is not
// known. A PD that does not answer us may serve parts in other Kubernetes clusters, unless its members say that it has no
// leader.
func (d *decision) otherPartsSuspended() verdict {
	others := d.All.OtherParts
	if d.Want.Kind.Data() == topology.None {
		return verdict{}
	}
	g := Gate{Component: d.Want.Kind, Reason: OtherPartsSuspended, Want: "other parts suspended", polled: true}
	switch {
	case others.Problem != "":
		g.Observed = "not known what runs of them: " + others.Problem
		return wait(g)
	case len(others.Running) > 0:
	case others.Across && !d.All.PD.Known() && !d.All.PD.Leaderless:
		g.Observed = "not known whether parts in other Kubernetes clusters use PD: " + d.All.PD.Problem
		g.Remedy = remedy.Remedy{remedy.Run("see what PD lacks", d.Cluster.Plugin("doctor"))}
		return wait(g)
	case others.Unknown && len(d.upElsewhere()) > 0:
		g.Observed = "PD lists members of other clusters, which may be parts in other namespaces or Kubernetes clusters: " + remedy.FirstFew(d.upElsewhere(), ", ")
		g.Remedy = remedy.Remedy{remedy.Run("see which TidbClusters these are, and suspend them", remedy.Kubectl("", "get", "tidbclusters", "--all-namespaces"))}
		return wait(g)
	default:
		return verdict{}
	}
	stays := slices.IndexFunc(others.Running, func(m state.RunningElsewhere) bool { return !m.Suspended })
	first := others.Running[max(stays, 0)]
	part := topology.Cluster{Namespace: first.Namespace, Name: first.Part}
	if stays >= 0 {
		g.Blocked = true
		g.Remedy = remedy.Remedy{
			remedy.Run("suspend that part first", part.Suspend(), part.Plugin("sync")),
			remedy.Run("take suspendAction out of the spec", d.Cluster.Plugin("edit")),
		}
	} else {
		g.Remedy = remedy.Remedy{remedy.Run("see why it runs", part.Plugin("status"))}
	}
	g.Observed = fmt.Sprintf("%s of cluster %s/%s runs", first.Member, first.Namespace, first.Part)
	if more := len(others.Running) - 1; more > 0 {
		g.Observed += fmt.Sprintf(", and %s", remedy.Count(more, "other member", "other members"))
	}
	return wait(g)
}

// upElsewhere returns the hosts of members of other clusters: stores that PD calls Up, and members of PD that may be
// healthy.
func (sc Scope) upElsewhere() (hosts []string) {
	for _, s := range sc.All.PD.OtherStores {
		if s.State == state.StoreUp {
			hosts = append(hosts, s.Host)
		}
	}
	for _, v := range sc.All.PD.OtherVoters {
		if host := v.Host(); (v.Healthy || v.Unasked) && host != "" {
			hosts = append(hosts, host)
		}
	}
	return hosts
}
