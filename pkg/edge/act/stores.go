package act

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/ledger"
)

// removeStore writes the record before it asks PD, so that no removal of ours is ever without a record. Only
// removals with a record are taken back.
func (a *Actor) removeStore(ctx context.Context, s step.RemoveStore) error {
	client, store, err := a.store(ctx, s.Member, s.StoreID)
	if err != nil {
		return err
	}
	switch {
	case store.State != pd.StoreUp:
		return nil
	case s.Down && store.Healthy():
		return stale(storeName(s.StoreID), "is Up now")
	}
	if err := peersUp(ctx, client, s.StoreID, s.NotUp); err != nil {
		return err
	}
	book, err := a.ledger(ctx)
	if err != nil {
		return err
	}
	if err := a.noneBegun(book, s); err != nil {
		return err
	}
	if old, known := ledger.Decode(book, state.RecordRemoval, s.StoreID); !known || old.Since.IsZero() {
		r := ledger.Record{Member: s.Member, Since: a.now(), Owner: a.owner}
		if err := a.remember(ctx, book, state.RecordRemoval, s.StoreID, r); err != nil {
			return err
		}
	}
	if err := client.DeleteStore(ctx, s.StoreID); err != nil {
		return fmt.Errorf("delete store %d: %w", s.StoreID, err)
	}
	return nil
}

// noneBegun fails if another run has recorded the removal of a store since this removal was decided. A process that was
// stopped for minutes would otherwise take more stores offline at the same time than the user allows.
func (a *Actor) noneBegun(book *corev1.ConfigMap, s step.RemoveStore) error {
	for _, r := range ledger.Read(book).Removals {
		if r.StoreID == s.StoreID || slices.Contains(s.Removals, r.StoreID) {
			continue
		}
		if begun, known := ledger.Decode(book, state.RecordRemoval, r.StoreID); known && begun.Owner != a.owner {
			return stale(storeName(r.StoreID), "of %s is taken offline by another run now", r.Member)
		}
	}
	return nil
}

// peersUp fails if a store is not Up in PD that was Up, or unknown, when the step was decided. A laptop that sleeps
// may send the request hours later, and regions would lose their quorum with both stores away.
func peersUp(ctx context.Context, client pd.Client, id uint64, notUp []uint64) error {
	stores, err := client.Stores(ctx, pd.StoreUp)
	if err != nil {
		return fmt.Errorf("read stores: %w", err)
	}
	for i := range stores {
		s := &stores[i]
		if s.ID != id && !s.Columnar() && !s.Healthy() && !slices.Contains(notUp, s.ID) {
			return stale(storeName(s.ID), "at %s is %s now", s.Address, s.StateName)
		}
	}
	return nil
}

// restoreStore sets a store Up again only if the ledger says that this program took it
// offline. The record is deleted last: without it an Offline store would look like one
// that another user has removed.
func (a *Actor) restoreStore(ctx context.Context, s step.RestoreStore) error {
	client, store, err := a.store(ctx, s.Member, s.StoreID)
	if err != nil {
		return err
	}
	if store.State == pd.StoreTombstone {
		return stale(storeName(s.StoreID), "is a tombstone now and cannot come back")
	}
	book, err := a.ledger(ctx)
	if err != nil {
		return err
	}
	_, ours := ledger.Decode(book, state.RecordRemoval, s.StoreID)
	switch {
	case !ours && store.State == pd.StoreUp:
		return nil
	case !ours:
		return stale(storeName(s.StoreID), "was taken offline by a person or another program")
	}
	if err := client.SetStoreState(ctx, s.StoreID, pd.StoreUp); err != nil {
		return fmt.Errorf("set store %d up: %w", s.StoreID, err)
	}
	return a.forget(ctx, book, state.RecordRemoval, s.StoreID)
}

// store reads a store and checks that it belongs to the member. Ids are never used twice, but the id in the step may
// come from a wrong match of addresses. A store that is taken offline by mistake loses one replica of each of its
// regions.
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
	case !a.hosts(member, hostOf(store.Address)):
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
