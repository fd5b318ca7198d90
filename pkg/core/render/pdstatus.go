package render

import (
	"strconv"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

var pdStatus = statusPart{
	members: func(r projection, s *v1alpha1.TidbClusterStatus) { r.pd(&s.PD) },
	clear: func(s *v1alpha1.TidbClusterStatus) {
		s.PD.Members, s.PD.PeerMembers, s.PD.UnjoinedMembers, s.PD.Leader = nil, nil, nil, v1alpha1.PDMember{}
	},
	health: func(s *v1alpha1.TidbClusterStatus) []bool {
		var all []bool
		for _, m := range s.PD.Members {
			all = append(all, m.Health)
		}
		return all
	},
	unhealthy: "PDUnhealthy", message: "Not all PD members are healthy",
}

func (r projection) pd(status *v1alpha1.PDStatus) {
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
				ClientURL:          c.MemberURL(topology.PD, m.Ordinal, topology.PDClientPort),
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
	r.peerMembers(status)
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
