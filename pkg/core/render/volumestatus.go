package render

import (
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

type volumeStatuses = map[v1alpha1.StorageVolumeName]*v1alpha1.StorageVolumeStatus

// volumes returns how far the volumes of running members are from what is wanted. A missing claim
// is not counted, and a volume that no member has any more is not shown.
func (r projection) volumes(k topology.Kind) volumeStatuses {
	group, _ := r.wanted.Group(k)
	var result volumeStatuses // nil when empty, which is how one comes back from the cluster
	for _, v := range group.Volumes {
		var seen []state.Claim
		for _, m := range r.snap.Groups[k].InSet() {
			for _, c := range m.Claims {
				if c.Template == v.Name && m.Pod != nil {
					seen = append(seen, c)
				}
			}
		}
		if len(seen) > 0 && result == nil {
			result = volumeStatuses{}
		}
		if len(seen) > 0 {
			result[v1alpha1.StorageVolumeName(v.Name)] = volumeStatus(v, seen)
		}
	}
	return result
}

// volumeStatus counts claims with the wanted size as modified, and other claims as current. The
// current size is the size of the last other claim. When all claims have the wanted size, all count as
// both. Classes are never changed, so the class of a claim is the wanted one.
func volumeStatus(want topology.Volume, claims []state.Claim) *v1alpha1.StorageVolumeStatus {
	s := &v1alpha1.StorageVolumeStatus{Name: v1alpha1.StorageVolumeName(want.Name)}
	s.ModifiedCapacity = want.Size.Quantity()
	s.CurrentCapacity = s.ModifiedCapacity
	for _, c := range claims {
		if c.Bound {
			s.BoundCount++
		}
		s.CurrentStorageClass, s.ModifiedStorageClass = c.Class, c.Class
		if c.Capacity >= want.Size {
			s.ModifiedCount++
			continue
		}
		s.CurrentCount++
		s.CurrentCapacity = c.Capacity.Quantity()
	}
	if s.CurrentCount == 0 {
		s.CurrentCount = s.ModifiedCount
	}
	s.ResizedCount, s.ResizedCapacity = s.ModifiedCount, s.ModifiedCapacity
	return s
}
