package render

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// The keys of the bootstrap ConfigMap, for a PD pod without data. The ConfigMap has the names of
// all initial members, which start one cluster together, or the id of a cluster and the members to
// join. Once a cluster exists, no pod may start another one. See founders for initial members that
// start late.
const (
	keyInitial   = "initial-cluster"
	keyClusterID = "cluster-id"
	keyJoin      = "join"
	keyAwaited   = "not-started"
)

// bootstraps reports whether PD's pods read the bootstrap ConfigMap. Those of an
// operator-made cluster ask its discovery server. To change that would restart
// them for nothing.
func bootstraps(c topology.Cluster, have state.Existing) bool {
	if spec := have.PodSpec(topology.PD); spec != nil {
		return slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
			return v.ConfigMap != nil && v.ConfigMap.Name == c.BootstrapMap()
		})
	}
	// An operator may be about to recreate the StatefulSet, with the script that the pods had.
	use := inUse(c, topology.PD, have)
	return use.found == nil || strings.Contains(use.found.Data[keyScript], mark)
}

// bootstrapMap is the bootstrap ConfigMap, nil where PD's pods do not read it.
func bootstrapMap(c topology.Cluster, have state.Existing, snap state.Snapshot) *corev1.ConfigMap {
	g, ok := c.Group(topology.PD)
	if !ok || !bootstraps(c, have) {
		return nil
	}
	labels := union(c.Selector(), map[string]string{topology.LabelComponent: componentDiscovery})
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: meta(c, c.BootstrapMap(), labels),
		Data:       bootstrapData(c, g, have, snap),
	}
}

func bootstrapData(c topology.Cluster, g topology.Group, have state.Existing, snap state.Snapshot) map[string]string {
	var old map[string]string
	if m := have.ConfigMaps[c.BootstrapMap()]; m != nil {
		old = m.Data
	}
	id := c.Source.Status.ClusterID
	if snap.PD.ClusterID != 0 {
		id = strconv.FormatUint(snap.PD.ClusterID, 10)
	}
	switch {
	case !c.Founds():
		return joining(id, joinURLs(c, snap, old[keyJoin]))
	case snap.PD.Known() && snap.PD.ClusterID != 0:
		return founders(c, snap, old, joining(id, joinURLs(c, snap, old[keyJoin])))
	case old[keyClusterID] != "":
		return old
	case id != "":
		data := joining(id, old[keyJoin])
		if old[keyInitial] != "" {
			data[keyInitial] = old[keyInitial] // for the members of which PD says that they have yet to start
		}
		return data
	case have.Sets[topology.PD] != nil, len(snap.Groups[topology.PD].Staying()) > 0 && old != nil,
		begun(c, snap, old[keyInitial]):
		// The initial members start, or have started, with these names. Other names now could start
		// another cluster: if more members were asked for since, those have claims too, but no
		// data.
		return old
	case partlyUsed(g, snap):
		return nil
	}
	return map[string]string{keyInitial: initialCluster(c, g)}
}

func joining(id, join string) map[string]string {
	data := map[string]string{}
	if id != "" {
		data[keyClusterID] = id
	}
	if join != "" {
		data[keyJoin] = join
	}
	return data
}

// founders adds the initial members that the cluster was started without. PD lists each of them
// from the beginning and lets no member join with such a name. So the member can only start with
// the same list of all initial members, because its log begins with that list.
//
// A member that has started once must not start so again. Without its data the member would vote a
// second time with the same id, and what it voted for could be lost. So names are only removed from
// the list. A late report of PD, or a report about a member that was recreated with an old name,
// adds no name again.
func founders(c topology.Cluster, snap state.Snapshot, old, data map[string]string) map[string]string {
	if was := old[keyClusterID]; was != "" && was != data[keyClusterID] {
		return data // the list belongs to another cluster
	}
	candidates, judged := old[keyAwaited]
	if !judged {
		candidates = old[keyInitial]
	}
	var names []string
	for _, m := range snap.Groups[topology.PD].Members {
		db, name := m.Database, c.PDName(m.Ordinal)
		if db.Presence == state.Present && db.Unstarted && db.Name == name && named(candidates, name) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		data[keyInitial], data[keyAwaited] = old[keyInitial], strings.Join(names, ",")
	}
	return data
}

// named reports whether a list, of names or of name=url, contains a name.
func named(list, name string) bool {
	for entry := range strings.SplitSeq(list, ",") {
		if n, _, _ := strings.Cut(entry, "="); n == name {
			return true
		}
	}
	return false
}

// initialCluster returns the names of all initial members, in the form of PD's flag.
func initialCluster(c topology.Cluster, g topology.Group) string {
	var members []string
	for _, i := range g.Ordinals().Resized(g.Replicas).All() {
		members = append(members, c.PDName(i)+"="+c.MemberURL(topology.PD, i, topology.PDPeerPort))
	}
	return strings.Join(members, ",")
}

// firstMembers returns how many members are to start a cluster that does not exist yet.
func firstMembers(m *corev1.ConfigMap) int {
	if m == nil || m.Data[keyInitial] == "" || m.Data[keyClusterID] != "" {
		return 0
	}
	return len(strings.Split(m.Data[keyInitial], ","))
}

// joinURLs returns the members that a new one can ask to join. A listed member stays in the list
// while PD has it, healthy or not, so that the list is not written for each restart. Without a
// healthy member, the old list is better than none. A part always has the members that it joins, which may be
// the only ones.
func joinURLs(c topology.Cluster, snap state.Snapshot, old string) string {
	listed := strings.Split(old, ",")
	var urls []string
	for _, m := range snap.Groups[topology.PD].Members {
		url := c.MemberURL(topology.PD, m.Ordinal, topology.PDClientPort)
		if m.Database.Presence == state.Present && (m.Database.Healthy || slices.Contains(listed, url)) {
			urls = append(urls, url)
		}
	}
	if len(urls) == 0 && old != "" {
		return old
	}
	return strings.Join(append(urls, c.PDToJoin()...), ",")
}

// begun reports whether an initial member has had a pod, and so a claim. The member's log may begin
// with the names of all initial members, so that with other names the member would wait for ever.
// Also, most initial members may have bootstrapped the cluster.
func begun(c topology.Cluster, snap state.Snapshot, initial string) bool {
	return slices.ContainsFunc(snap.Groups[topology.PD].Members, func(m state.Member) bool {
		return len(m.Claims) > 0 && named(initial, c.PDName(m.Ordinal))
	})
}

// partlyUsed reports whether some, but not all, of the first members have a claim already. Such
// claims are left over from an earlier cluster of this name. Members with a claim may start from
// its data. The other members must then not start another cluster: they wait until PD answers, and
// join. If all members have a claim, the claims are either all of the earlier cluster or all empty.
func partlyUsed(g topology.Group, snap state.Snapshot) bool {
	used := 0
	for _, m := range snap.Groups[topology.PD].Members {
		if g.InSpec(m.Ordinal) && len(m.Claims) > 0 {
			used++
		}
	}
	return used > 0 && used < g.Replicas
}
