package act

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// Intent reads the TidbCluster and writes its status, which keeps the records of
// failovers; *intent.Client implements it.
type Intent interface {
	StatusWriter
	Load(ctx context.Context, namespace, name string) (*v1alpha1.TidbCluster, error)
}

// recordFailure records a member as given up. It checks once more that the member
// is lost: from now on its data may be deleted.
func (a *Actor) recordFailure(ctx context.Context, s step.RecordFailure) error {
	tc, group, err := a.current(ctx, s.Component)
	if err != nil {
		return err
	}
	record, known := group.Failure(s.Member)
	switch {
	case known && (record.Discarded || !s.Discarded):
		return nil
	case !known && len(group.Failures) >= group.MaxFailures:
		return stale(tidbcluster(tc), "has %d failovers of %s now", len(group.Failures), s.Component.Title())
	}
	if err := a.lost(ctx, s); err != nil {
		return err
	}
	created := a.now()
	if known {
		created = record.Created
	}
	return a.patchStatus(ctx, tc, group.RecordFailure(topology.Failure{
		Member: s.Member, Key: s.Name, ID: s.ID, Claims: s.Claims, Created: created, Discarded: s.Discarded,
	}, uuid.NewUUID()))
}

// lost fails if PD says that the member is healthy again. A member that PD does not
// list has no data that could be lost.
func (a *Actor) lost(ctx context.Context, s step.RecordFailure) error {
	switch s.Component.Data() {
	case topology.Raft:
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
	case topology.Store:
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

func (a *Actor) retireFailure(ctx context.Context, s step.RetireFailure) error {
	tc, group, err := a.current(ctx, s.Component)
	if err != nil {
		return err
	}
	change := group.RetireFailure(s.Member)
	if change == nil {
		return stale(tidbcluster(tc), "has no failover of %s any more", s.Member)
	}
	return a.patchStatus(ctx, tc, change)
}

func (a *Actor) forgetFailure(ctx context.Context, s step.ForgetFailure) error {
	tc, group, err := a.current(ctx, s.Component)
	if err != nil {
		return err
	}
	change := group.ForgetFailure(s.Member)
	if change == nil {
		return nil
	}
	return a.patchStatus(ctx, tc, change)
}

// current returns the TidbCluster as it is now, and what its spec asks for of a
// component.
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
		return nil, group, stale(tidbcluster(tc), "is paused now")
	case !ok:
		return nil, group, stale(tidbcluster(tc), "has no %s any more", k.Title())
	}
	return tc, group, nil
}

// patchStatus changes fields of the status of this TidbCluster, and not of one that
// has got its name since.
func (a *Actor) patchStatus(ctx context.Context, tc *v1alpha1.TidbCluster, change topology.Fields) error {
	patch, err := json.Marshal(topology.Fields{
		"metadata": topology.Fields{"uid": tc.UID},
		"status":   change,
	})
	if err != nil {
		return fmt.Errorf("encode status of %s: %w", tidbcluster(tc), err)
	}
	return a.intent.PatchStatus(ctx, tc.Namespace, tc.Name, patch)
}

func tidbcluster(tc *v1alpha1.TidbCluster) string { return "tidbcluster " + tc.Name }
