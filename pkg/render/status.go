package render

import (
	"fmt"
	"strconv"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// Status projects what was observed onto the TidbCluster's status, for those
// who read it there. Nothing is decided by it. What was not observed this time
// stays as it was, and times stay as long as what they speak of does, so that
// an unchanged cluster has an unchanged status.
func Status(w plan.Wanted, have Existing, s state.Snapshot, p plan.Plan, old v1alpha1.TidbClusterStatus) v1alpha1.TidbClusterStatus {
	r := projection{wanted: w, have: have, snap: s, at: metav1.NewTime(s.At).Rfc3339Copy()}
	status := *old.DeepCopy()
	if s.PD.ClusterID != 0 {
		status.ClusterID = strconv.FormatUint(s.PD.ClusterID, 10)
	}
	r.pd(&status.PD)
	r.tikv(&status.TiKV, status.PD.Phase)
	r.tidb(&status.TiDB, status.PD.Phase, status.TiKV.Phase)
	r.volumes(topology.PD, &status.PD.Volumes)
	r.volumes(topology.TiKV, &status.TiKV.Volumes)
	r.volumes(topology.TiDB, &status.TiDB.Volumes)
	status.Conditions = r.conditions(status, p)
	if !equality.Semantic.DeepEqual(status, old) {
		r.leaders(status.TiKV.Stores)
	}
	return status
}

type projection struct {
	wanted plan.Wanted
	have   Existing
	snap   state.Snapshot
	at     metav1.Time
}

// phase is empty for a component that is not wanted or does not exist yet:
// then its status stays as it is.
func (r projection) phase(k topology.Kind) v1alpha1.MemberPhase {
	want, ok := r.wanted.Group(k)
	set := r.have.Sets[k]
	switch {
	case ok && want.Suspend && (set == nil || set.DeletionTimestamp != nil):
		return v1alpha1.SuspendPhase
	case !ok || set == nil:
		return ""
	}
	if int(replicasOf(set)) != want.Size() {
		return v1alpha1.ScalePhase
	}
	if Template(set) != want.Template || set.Status.CurrentRevision != set.Status.UpdateRevision {
		return v1alpha1.UpgradePhase
	}
	group := r.snap.Groups[k]
	for _, m := range group.Running() {
		if group.Outdated(m) {
			return v1alpha1.UpgradePhase
		}
	}
	return v1alpha1.NormalPhase
}

// suspended: the component is, and its StatefulSet is gone.
func (r projection) suspended(k topology.Kind) bool {
	want, ok := r.wanted.Group(k)
	return ok && want.Suspend && r.have.Sets[k] == nil
}

func (r projection) set(k topology.Kind) *appsv1.StatefulSetStatus {
	return r.have.Sets[k].Status.DeepCopy()
}

// image is that of the StatefulSet's pods, not of those that run.
func (r projection) image(k topology.Kind) string {
	for _, c := range r.have.Sets[k].Spec.Template.Spec.Containers {
		if c.Name == string(k) {
			return c.Image
		}
	}
	return ""
}

func (r projection) pd(status *v1alpha1.PDStatus) {
	phase := r.phase(topology.PD)
	if phase == "" {
		return
	}
	if status.Phase = phase; r.suspended(topology.PD) {
		// What was there is there no more; whom a failover has replaced stays.
		status.Synced, status.StatefulSet = false, nil
		status.Members, status.UnjoinedMembers, status.Leader = nil, nil, v1alpha1.PDMember{}
		return
	}
	status.StatefulSet = r.set(topology.PD)
	status.Image = r.image(topology.PD)
	status.Synced = r.snap.PD.Known()
	if !status.Synced {
		return
	}
	c := r.wanted.Cluster
	members := map[string]v1alpha1.PDMember{}
	unjoined := map[string]v1alpha1.UnjoinedMember{}
	for _, m := range r.snap.Groups[topology.PD].Members {
		switch {
		case m.Database.Presence == state.Present:
			member := v1alpha1.PDMember{
				Name:               m.Database.Name,
				ID:                 strconv.FormatUint(m.Database.ID, 10),
				ClientURL:          fmt.Sprintf("http://%s:%d", c.PodHost(topology.PD, m.Ordinal), topology.PDClientPort),
				Health:             m.Database.Healthy,
				LastTransitionTime: r.at,
			}
			if before, ok := status.Members[member.Name]; ok && before.Health == member.Health {
				member.LastTransitionTime = before.LastTransitionTime
			}
			members[member.Name] = member
			if m.Database.Leader {
				status.Leader = member
			}
		case m.Database.Presence == state.Absent && m.Pod != nil:
			unjoined[m.Name] = r.unjoined(m, status.UnjoinedMembers[m.Name])
		}
	}
	status.Members, status.UnjoinedMembers = filled(members), filled(unjoined)
	if r.snap.PD.Leader == "" {
		status.Leader = v1alpha1.PDMember{}
	}
}

func (r projection) unjoined(m state.Member, before v1alpha1.UnjoinedMember) v1alpha1.UnjoinedMember {
	result := v1alpha1.UnjoinedMember{PodName: m.Name, CreatedAt: before.CreatedAt}
	if result.CreatedAt.IsZero() {
		result.CreatedAt = r.at
	}
	for _, claim := range m.Claims {
		if result.PVCUIDSet == nil {
			result.PVCUIDSet = map[types.UID]v1alpha1.EmptyStruct{}
		}
		result.PVCUIDSet[types.UID(claim.UID)] = v1alpha1.EmptyStruct{}
	}
	return result
}

func (r projection) tikv(status *v1alpha1.TiKVStatus, pd v1alpha1.MemberPhase) {
	phase := r.phase(topology.TiKV)
	if phase == "" {
		return
	}
	if phase == v1alpha1.UpgradePhase && pd == v1alpha1.UpgradePhase {
		phase = v1alpha1.NormalPhase // its turn has not come
	}
	if status.Phase = phase; r.suspended(topology.TiKV) {
		status.Synced, status.StatefulSet, status.Stores = false, nil, nil
		return
	}
	status.StatefulSet = r.set(topology.TiKV)
	status.Image = r.image(topology.TiKV)
	status.Synced = r.snap.PD.Known()
	if !status.Synced {
		return
	}
	status.BootStrapped = r.snap.PD.Bootstrapped
	if !status.BootStrapped {
		return
	}
	stores := map[string]v1alpha1.TiKVStore{}
	for _, m := range r.snap.Groups[topology.TiKV].Members {
		if m.Database.Presence != state.Present || m.Database.State == state.StoreTombstone {
			continue
		}
		id := strconv.FormatUint(m.Database.ID, 10)
		before, known := status.Stores[id]
		store := v1alpha1.TiKVStore{
			ID:                       id,
			PodName:                  m.Name,
			IP:                       r.wanted.Cluster.PodHost(topology.TiKV, m.Ordinal),
			LeaderCount:              before.LeaderCount,
			State:                    string(m.Database.State),
			LastTransitionTime:       r.at,
			LeaderCountBeforeUpgrade: before.LeaderCountBeforeUpgrade,
		}
		if known && before.State == store.State {
			store.LastTransitionTime = before.LastTransitionTime
		}
		stores[id] = store
	}
	status.Stores, status.TombstoneStores = filled(stores), nil
}

// leaders brings the number of each store's region leaders up to date, of those
// that it is known of.
func (r projection) leaders(stores map[string]v1alpha1.TiKVStore) {
	for _, m := range r.snap.Groups[topology.TiKV].Members {
		id := strconv.FormatUint(m.Database.ID, 10)
		if store, ok := stores[id]; ok && m.Database.Leaders >= 0 {
			store.LeaderCount = int32(m.Database.Leaders)
			stores[id] = store
		}
	}
}

func (r projection) tidb(status *v1alpha1.TiDBStatus, pd, tikv v1alpha1.MemberPhase) {
	phase := r.phase(topology.TiDB)
	if phase == "" {
		return
	}
	if phase == v1alpha1.UpgradePhase && (pd == phase || tikv == phase) {
		phase = v1alpha1.NormalPhase
	}
	if status.Phase = phase; r.suspended(topology.TiDB) {
		status.StatefulSet, status.Members = nil, nil
		return
	}
	status.StatefulSet = r.set(topology.TiDB)
	status.Image = r.image(topology.TiDB)
	members := map[string]v1alpha1.TiDBMember{}
	for _, m := range r.snap.Groups[topology.TiDB].Running() {
		before, known := status.Members[m.Name]
		if m.Database.Presence == state.Unknown && known {
			members[m.Name] = before
			continue
		}
		member := v1alpha1.TiDBMember{
			Name:               m.Name,
			Health:             m.Database.Presence == state.Present && m.Database.Healthy,
			LastTransitionTime: r.at,
			NodeName:           before.NodeName,
		}
		if known && before.Health == member.Health {
			member.LastTransitionTime = before.LastTransitionTime
		}
		members[m.Name] = member
	}
	status.Members = filled(members)
}

// filled is nil for an empty map, which is how one comes back from the cluster.
func filled[V any](m map[string]V) map[string]V {
	if len(m) == 0 {
		return nil
	}
	return m
}
