package topology

import (
	"slices"
	"strconv"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
)

// Failure is the record of a member that a failover has given up for now. It is
// kept in the TidbCluster's status, where an operator keeps its own, so that
// either can go on with what the other has begun.
type Failure struct {
	Member  string   // the pod's name
	ID      uint64   // of the PD member or the store, 0 for TiDB
	Claims  []string // UIDs of the claims that the member had
	Created time.Time
	// Discarded: the member's data is given up for good (hostDown).
	Discarded bool
	// Deleted: the database has let go of the member, and its claims and pod
	// were deleted (memberDeleted, storeDeleted).
	Deleted bool
}

// Failure finds the record of a member, given its pod's name.
func (g Group) Failure(member string) (Failure, bool) {
	for _, f := range g.Failures {
		if f.Member == member {
			return f, true
		}
	}
	return Failure{}, false
}

// Size is the number of members that the component is to have: those that the
// user asks for, and one more for each that is replaced. A PD member is replaced
// only once PD has let go of it: until then another voter would make a lost
// quorum more likely, not less.
func (g Group) Size() int {
	n := g.Replicas
	for _, f := range g.Failures {
		if f.Deleted || g.Kind != PD {
			n++
		}
	}
	return n
}

func pdFailures(records map[string]v1alpha1.PDFailureMember) []Failure {
	var all []Failure
	for _, r := range records {
		all = append(all, failure(Failure{
			Member: r.PodName, Created: r.CreatedAt.Time, Discarded: r.HostDown, Deleted: r.MemberDeleted,
		}, r.MemberID, r.PVCUIDSet, r.PVCUID))
	}
	return sorted(all)
}

func tikvFailures(records map[string]v1alpha1.TiKVFailureStore) []Failure {
	var all []Failure
	for _, r := range records {
		all = append(all, failure(Failure{
			Member: r.PodName, Created: r.CreatedAt.Time, Discarded: r.HostDown, Deleted: r.StoreDeleted,
		}, r.StoreID, r.PVCUIDSet, ""))
	}
	return sorted(all)
}

func tidbFailures(records map[string]v1alpha1.TiDBFailureMember) []Failure {
	var all []Failure
	for _, r := range records {
		all = append(all, Failure{Member: r.PodName, Created: r.CreatedAt.Time})
	}
	return sorted(all)
}

func failure(f Failure, id string, claims map[types.UID]v1alpha1.EmptyStruct, legacy types.UID) Failure {
	f.ID, _ = strconv.ParseUint(id, 10, 64)
	for uid := range claims {
		f.Claims = append(f.Claims, string(uid))
	}
	// Records of old operators name a single claim.
	if legacy != "" && len(f.Claims) == 0 {
		f.Claims = []string{string(legacy)}
	}
	slices.Sort(f.Claims)
	return f
}

// sorted puts the oldest first, so that the order of a map decides nothing.
func sorted(all []Failure) []Failure {
	slices.SortFunc(all, func(a, b Failure) int {
		if c := a.Created.Compare(b.Created); c != 0 {
			return c
		}
		if a.Member < b.Member {
			return -1
		}
		return 1
	})
	return all
}
