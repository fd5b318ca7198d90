package topology

import (
	"slices"
	"strconv"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// records describes how the failovers of a component are kept in the status of a TidbCluster. The
// fields and types are tidb-operator's. A component whose members are never given up has none.
type records struct {
	field string // of the component's part of the status
	read  func(v1alpha1.TidbClusterStatus) []Failure
	write func(Failure) (key string, record any)
	// deleted is the field of a record which says that the database has removed the member. It is "" where that
	// is not recorded.
	deleted string
	// named: all failovers of the component together have a UID. By the UID a user can ask for the recovery from
	// these failovers.
	named bool
}

// Fields are a part of a TidbCluster as JSON, to be merged into it; nil removes one.
type Fields map[string]any

// AskRecovery asks in the spec of a TidbCluster for the recovery from a component's present failovers only. The
// request has the UID of these failovers, so it has no effect after the failovers are over. AskRecovery returns
// false, and changes nothing, if no failover waits for such a request, or the request is there already.
func AskRecovery(tc *v1alpha1.TidbCluster, k Kind) bool {
	r := readingOf(k)
	if _, ok := r.spec(tc); !ok || r.recovery == nil || len(failures(tc.Status, k)) == 0 {
		return false
	}
	fields := r.recovery(tc)
	if fields.isAsked() {
		return false
	}
	*fields.failover = &v1alpha1.Failover{RecoverByUID: fields.uid}
	return true
}

// RecordFailure returns the status that records a failure of a component. The UID is for the
// component's failovers, if failovers of the component have a UID and this failure is the first.
func (g Group) RecordFailure(f Failure, uid types.UID) Fields {
	r := g.Kind.traits().records
	key, record := r.write(f)
	change := Fields{r.field: Fields{key: record}}
	if r.named && g.FailoverUID == "" {
		change["failoverUID"] = uid
	}
	return Fields{string(g.Kind): change}
}

// RetireFailure returns the status which says that the database has removed a member that was given up. It is nil
// without a record.
func (g Group) RetireFailure(member string) Fields {
	r := g.Kind.traits().records
	f, ok := g.Failure(member)
	if !ok || r.deleted == "" {
		return nil
	}
	return Fields{string(g.Kind): Fields{r.field: Fields{f.Key: Fields{r.deleted: true}}}}
}

// ForgetFailure returns the status without a record of a member, nil where there is none.
func (g Group) ForgetFailure(member string) Fields {
	r, gone := g.Kind.traits().records, Fields{}
	for _, f := range g.Failures {
		if f.Member == member {
			gone[f.Key] = nil
		}
	}
	if len(gone) == 0 {
		return nil
	}
	change := Fields{r.field: gone}
	if r.named && len(gone) == len(g.Failures) {
		// A request to recover is for these failovers, not for the next ones.
		change["failoverUID"] = nil
	}
	return Fields{string(g.Kind): change}
}

var pdRecords = records{
	field: "failureMembers", deleted: "memberDeleted",
	read: func(s v1alpha1.TidbClusterStatus) (all []Failure) {
		for key, r := range s.PD.FailureMembers {
			all = append(all, failure(Failure{
				Key: key, Member: r.PodName, Created: r.CreatedAt.Time, Discarded: r.HostDown, Deleted: r.MemberDeleted,
			}, r.MemberID, r.PVCUIDSet, r.PVCUID))
		}
		return all
	},
	write: func(f Failure) (string, any) {
		key := f.Key
		if key == "" {
			key = f.Member // it has never started, so PD has no name for it
		}
		return key, v1alpha1.PDFailureMember{PodName: f.Member, MemberID: f.id(), PVCUIDSet: f.claims(), CreatedAt: inSeconds(f.Created)}
	},
}

var tikvRecords = storeRecords(func(s v1alpha1.TidbClusterStatus) failureStores { return s.TiKV.FailureStores })

var tiflashRecords = storeRecords(func(s v1alpha1.TidbClusterStatus) failureStores { return s.TiFlash.FailureStores })

type failureStores = map[string]v1alpha1.TiKVFailureStore

// storeRecords are the records of a component whose members are stores.
func storeRecords(of func(v1alpha1.TidbClusterStatus) failureStores) records {
	return records{
		field: "failureStores", named: true,
		read: func(s v1alpha1.TidbClusterStatus) (all []Failure) {
			for key, r := range of(s) {
				all = append(all, failure(Failure{
					Key: key, Member: r.PodName, Created: r.CreatedAt.Time, Discarded: r.HostDown, Deleted: r.StoreDeleted,
				}, r.StoreID, r.PVCUIDSet, ""))
			}
			return all
		},
		write: func(f Failure) (string, any) {
			return f.id(), v1alpha1.TiKVFailureStore{
				PodName: f.Member, StoreID: f.id(), PVCUIDSet: f.claims(), HostDown: f.Discarded, CreatedAt: inSeconds(f.Created),
			}
		},
	}
}

var tidbRecords = records{
	field: "failureMembers",
	read: func(s v1alpha1.TidbClusterStatus) (all []Failure) {
		for key, r := range s.TiDB.FailureMembers {
			all = append(all, Failure{Key: key, Member: r.PodName, Created: r.CreatedAt.Time})
		}
		return all
	},
	write: func(f Failure) (string, any) {
		return f.Member, v1alpha1.TiDBFailureMember{PodName: f.Member, CreatedAt: inSeconds(f.Created)}
	},
}

func (f Failure) id() string { return strconv.FormatUint(f.ID, 10) }

func (f Failure) claims() map[types.UID]v1alpha1.EmptyStruct {
	claims := map[types.UID]v1alpha1.EmptyStruct{}
	for _, uid := range f.Claims {
		claims[types.UID(uid)] = v1alpha1.EmptyStruct{}
	}
	return claims
}

// inSeconds returns a time as Kubernetes writes it, in full seconds.
func inSeconds(t time.Time) metav1.Time { return metav1.NewTime(t).Rfc3339Copy() }

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

// failures returns the records of a component, the oldest first, so that nothing depends on the
// order of a map.
func failures(status v1alpha1.TidbClusterStatus, k Kind) []Failure {
	read := k.traits().records.read
	if read == nil {
		return nil
	}
	all := read(status)
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
