package render

import (
	"strconv"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// peerStores returns the stores of a component that are no members of this TidbCluster, such as stores of other parts.
// known are the stores that the status has now. tidb-operator counts on such stores when it drives the cluster again.
func (r projection) peerStores(k topology.Kind, known map[string]v1alpha1.TiKVStore) map[string]v1alpha1.TiKVStore {
	stores := map[string]v1alpha1.TiKVStore{}
	for _, s := range r.snap.PD.OtherStores {
		if s.Component != k {
			continue
		}
		id := strconv.FormatUint(s.ID, 10)
		before, there := known[id]
		pod, _, _ := strings.Cut(s.Host, ".")
		store := v1alpha1.TiKVStore{
			ID: id, PodName: pod, IP: s.Host, State: string(s.State),
			LeaderCount: before.LeaderCount, LastTransitionTime: r.at,
		}
		if there && before.State == store.State {
			store.LastTransitionTime = before.LastTransitionTime
		}
		stores[id] = store
	}
	return filled(stores)
}

// peerLeaders updates the numbers of region leaders of stores that are no members here.
func (r projection) peerLeaders(stores map[string]v1alpha1.TiKVStore) {
	for _, s := range r.snap.PD.OtherStores {
		id := strconv.FormatUint(s.ID, 10)
		if store, ok := stores[id]; ok && s.Leaders >= 0 {
			store.LeaderCount = int32(s.Leaders)
			stores[id] = store
		}
	}
}

// peerMembers writes the members of PD that are no members of this TidbCluster. One of them may lead PD.
func (r projection) peerMembers(status *v1alpha1.PDStatus) {
	members := map[string]v1alpha1.PDMember{}
	for _, v := range r.snap.PD.OtherVoters {
		member := v1alpha1.PDMember{
			Name: v.Name, ID: strconv.FormatUint(v.ID, 10), ClientURL: v.ClientURL, Health: v.Healthy, LastTransitionTime: r.at,
		}
		switch before, ok := status.PeerMembers[v.Name]; {
		case ok && v.Unasked:
			member.Health, member.LastTransitionTime = before.Health, before.LastTransitionTime
		case ok && before.Health == member.Health:
			member.LastTransitionTime = before.LastTransitionTime
		}
		members[v.Name] = member
		if v.Name == r.snap.PD.Leader {
			status.Leader = member
		}
	}
	status.PeerMembers = filled(members)
}
