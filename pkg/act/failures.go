package act

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// Intent is the TidbCluster, whose status keeps the records of failovers;
// *intent.Client is one.
type Intent interface {
	StatusWriter
	Load(ctx context.Context, namespace, name string) (*v1alpha1.TidbCluster, error)
}

// fields are a part of a TidbCluster as JSON; nil removes one.
type fields map[string]any

// recordFailure gives a member up. It asks once more whether the member is lost:
// from here on its data may go.
func (a *Actor) recordFailure(ctx context.Context, s plan.RecordFailure) error {
	tc, group, err := a.current(ctx, s.Component)
	if err != nil {
		return err
	}
	record, known := group.Failure(s.Member)
	switch {
	case known && (record.Discarded || !s.Discarded):
		return nil
	case !known && len(group.Failures) >= group.MaxFailures:
		return stale(tidbcluster(tc), "has %d failovers of %s by now", len(group.Failures), s.Component.Title())
	}
	if err := a.lost(ctx, s); err != nil {
		return err
	}
	created := metav1.NewTime(a.now()).Rfc3339Copy()
	if known {
		created = metav1.NewTime(record.Created)
	}
	claims := map[types.UID]v1alpha1.EmptyStruct{}
	for _, uid := range s.Claims {
		claims[types.UID(uid)] = v1alpha1.EmptyStruct{}
	}
	id := strconv.FormatUint(s.ID, 10)
	switch s.Component {
	case topology.PD:
		key := s.Name
		if key == "" {
			key = s.Member // it has never started, so PD has no name for it
		}
		return a.patchStatus(ctx, tc, "pd", fields{"failureMembers": fields{key: v1alpha1.PDFailureMember{
			PodName: s.Member, MemberID: id, PVCUIDSet: claims, CreatedAt: created,
		}}})
	case topology.TiKV:
		change := fields{"failureStores": fields{id: v1alpha1.TiKVFailureStore{
			PodName: s.Member, StoreID: id, PVCUIDSet: claims, HostDown: s.Discarded, CreatedAt: created,
		}}}
		if tc.Status.TiKV.FailoverUID == "" {
			change["failoverUID"] = uuid.NewUUID()
		}
		return a.patchStatus(ctx, tc, "tikv", change)
	}
	return a.patchStatus(ctx, tc, "tidb", fields{"failureMembers": fields{s.Member: v1alpha1.TiDBFailureMember{
		PodName: s.Member, CreatedAt: created,
	}}})
}

// lost makes sure that PD still thinks so. A TiDB server holds nothing that
// could be lost with it.
func (a *Actor) lost(ctx context.Context, s plan.RecordFailure) error {
	switch s.Component {
	case topology.PD:
		client, err := a.database()
		if err != nil {
			return err
		}
		health, err := client.Health(ctx)
		if err != nil {
			return fmt.Errorf("read health of PD members: %w", err)
		}
		if healthy(health, s.ID) {
			return stale("PD member "+s.Member, "is healthy again")
		}
	case topology.TiKV:
		_, store, err := a.store(ctx, s.Member, s.ID)
		if err != nil {
			return err
		}
		if store.State == pd.StoreUp && store.Healthy() {
			return stale(storeName(s.ID), "is Up again")
		}
	}
	return nil
}

func (a *Actor) retireFailure(ctx context.Context, s plan.RetireFailure) error {
	tc, _, err := a.current(ctx, s.Component)
	if err != nil {
		return err
	}
	for key, r := range tc.Status.PD.FailureMembers {
		if r.PodName == s.Member && s.Component == topology.PD {
			return a.patchStatus(ctx, tc, "pd", fields{"failureMembers": fields{key: fields{"memberDeleted": true}}})
		}
	}
	return stale(tidbcluster(tc), "has no failover of %s any more", s.Member)
}

func (a *Actor) forgetFailure(ctx context.Context, s plan.ForgetFailure) error {
	tc, group, err := a.current(ctx, s.Component)
	if err != nil {
		return err
	}
	gone := fields{}
	for key, pod := range failurePods(tc, s.Component) {
		if pod == s.Member {
			gone[key] = nil
		}
	}
	if len(gone) == 0 {
		return nil
	}
	switch s.Component {
	case topology.PD:
		return a.patchStatus(ctx, tc, "pd", fields{"failureMembers": gone})
	case topology.TiKV:
		change := fields{"failureStores": gone}
		if len(gone) == len(group.Failures) {
			// A request to recover is for one failover, not for the next.
			change["failoverUID"] = nil
		}
		return a.patchStatus(ctx, tc, "tikv", change)
	}
	return a.patchStatus(ctx, tc, "tidb", fields{"failureMembers": gone})
}

// failurePods are the pods of a component's records, by the records' keys.
func failurePods(tc *v1alpha1.TidbCluster, k topology.Kind) map[string]string {
	pods := map[string]string{}
	switch k {
	case topology.PD:
		for key, r := range tc.Status.PD.FailureMembers {
			pods[key] = r.PodName
		}
	case topology.TiKV:
		for key, r := range tc.Status.TiKV.FailureStores {
			pods[key] = r.PodName
		}
	case topology.TiDB:
		for key, r := range tc.Status.TiDB.FailureMembers {
			pods[key] = r.PodName
		}
	}
	return pods
}

// current is the TidbCluster as it is now, and what it wants of a component.
func (a *Actor) current(ctx context.Context, k topology.Kind) (*v1alpha1.TidbCluster, topology.Group, error) {
	tc, err := a.intent.Load(ctx, a.cluster.Namespace, a.cluster.Name)
	if err != nil {
		return nil, topology.Group{}, err
	}
	c := topology.New(tc)
	group, ok := c.Group(k)
	switch {
	case c.UID != a.cluster.UID:
		return nil, group, stale(tidbcluster(tc), "was deleted and created again")
	case c.Paused:
		return nil, group, stale(tidbcluster(tc), "is paused by now")
	case !ok:
		return nil, group, stale(tidbcluster(tc), "has no %s any more", k.Title())
	}
	return tc, group, nil
}

// patchStatus changes fields of one component's status, of that TidbCluster and
// not of one that has got its name since.
func (a *Actor) patchStatus(ctx context.Context, tc *v1alpha1.TidbCluster, part string, change fields) error {
	patch, err := json.Marshal(fields{
		"metadata": fields{"uid": tc.UID},
		"status":   fields{part: change},
	})
	if err != nil {
		return fmt.Errorf("encode status of %s: %w", tidbcluster(tc), err)
	}
	return a.intent.PatchStatus(ctx, tc.Namespace, tc.Name, patch)
}

func tidbcluster(tc *v1alpha1.TidbCluster) string { return "tidbcluster " + tc.Name }
