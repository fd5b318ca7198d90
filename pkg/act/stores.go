package act

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

func (a *Actor) removeStore(ctx context.Context, s plan.RemoveStore) error {
	client, store, err := a.store(ctx, s.Member, s.StoreID)
	if err != nil {
		return err
	}
	if store.State != pd.StoreUp {
		return nil
	}
	if err := client.DeleteStore(ctx, s.StoreID); err != nil {
		return fmt.Errorf("delete store %d: %w", s.StoreID, err)
	}
	return nil
}

func (a *Actor) restoreStore(ctx context.Context, s plan.RestoreStore) error {
	client, store, err := a.store(ctx, s.Member, s.StoreID)
	if err != nil {
		return err
	}
	switch store.State {
	case pd.StoreUp:
		return nil
	case pd.StoreTombstone:
		return stale(storeName(s.StoreID), "is a tombstone by now and cannot come back")
	}
	if err := client.SetStoreState(ctx, s.StoreID, pd.StoreUp); err != nil {
		return fmt.Errorf("set store %d up: %w", s.StoreID, err)
	}
	return nil
}

// store reads a store and makes sure that it is the member's. Ids are never
// given twice, but the step's may come from a wrong match of addresses, and a
// store that is taken offline by mistake loses a replica of everything it has.
func (a *Actor) store(ctx context.Context, member string, id uint64) (pd.Client, *pd.Store, error) {
	client, err := a.database()
	if err != nil {
		return nil, nil, err
	}
	store, err := client.Store(ctx, id)
	switch {
	case errors.Is(err, pd.ErrNotFound):
		return nil, nil, stale(storeName(id), "is not in PD any more")
	case err != nil:
		return nil, nil, fmt.Errorf("read store %d: %w", id, err)
	case !a.hosts(topology.TiKV, member, hostOf(store.Address)):
		return nil, nil, stale(storeName(id), "is at %s, which is not %s", store.Address, member)
	}
	return client, store, nil
}

func storeName(id uint64) string { return fmt.Sprintf("store %d", id) }

func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
