package act

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/ledger"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
)

// evictLeaders writes the record before PD is asked, so that whatever happens in
// between, no scheduler of ours is without one.
func (a *Actor) evictLeaders(ctx context.Context, s plan.EvictLeaders) error {
	client, store, err := a.store(ctx, s.Member, s.StoreID)
	if err != nil {
		return err
	}
	if store.State != pd.StoreUp {
		return stale(storeName(s.StoreID), "is %s by now", store.State)
	}
	// Asked before anything is written: as long as PD does not know its own
	// schedulers there is nothing to be done, and no time to be counted.
	evicting, err := isEvicting(ctx, client, s.StoreID)
	if err != nil {
		return err
	}
	book, err := a.ledger(ctx)
	if err != nil {
		return err
	}
	old, known := ledger.Decode(book, s.StoreID)
	if record := a.record(s, old, known, evicting); !known || record != old {
		if err := a.remember(ctx, book, s.StoreID, record); err != nil {
			return err
		}
	}
	if evicting {
		return nil
	}
	if err := client.AddEvictLeader(ctx, s.StoreID); err != nil {
		return fmt.Errorf("add evict-leader scheduler of store %d: %w", s.StoreID, err)
	}
	if evicting, err = isEvicting(ctx, client, s.StoreID); err != nil {
		return err
	}
	if !evicting {
		return fmt.Errorf("add evict-leader scheduler of store %d: PD does not list it", s.StoreID)
	}
	return nil
}

// record is what to write down, given what there is. When an eviction began is
// kept as long as it is the same one: PD may lose the scheduler, more than once,
// and were the clock started again each time, it would never run out. But a
// record that another run left behind, of an eviction that did not go on since,
// must not let the time run out before this one has begun. Nor is the number of
// leaders before it replaced by what an interrupted one has left of them.
func (a *Actor) record(s plan.EvictLeaders, old ledger.Record, known, evicting bool) ledger.Record {
	r := ledger.Record{Member: s.Member, Since: a.now(), Owner: a.owner, Leaders: max(s.Leaders, 0)}
	same := known && old.Member == s.Member && old.Ended.IsZero()
	if evicting && (old.Foreign || !known || !old.Ended.IsZero()) {
		r.Foreign = true
	}
	if same {
		r.Leaders = max(r.Leaders, old.Leaders)
	}
	if same && !old.Since.IsZero() && (evicting || old.Owner == a.owner) {
		r.Since = old.Since
	}
	return r
}

// allowLeaders removes a scheduler only if the ledger says that it is ours. The
// record goes last: were it the other way round, a crash in between would leave
// a store that never gets a leader again.
func (a *Actor) allowLeaders(ctx context.Context, s plan.AllowLeaders) error {
	book, err := a.ledger(ctx)
	if err != nil {
		return err
	}
	record, known := ledger.Decode(book, s.StoreID)
	if !known {
		return nil
	}
	ended := !record.Ended.IsZero()
	if !record.Foreign && !ended {
		if err := a.endEviction(ctx, s.StoreID); err != nil {
			return err
		}
	}
	if s.Returning {
		if !ended {
			record.Ended = a.now()
		}
		return a.remember(ctx, book, s.StoreID, record)
	}
	return a.forget(ctx, s.StoreID)
}

func (a *Actor) endEviction(ctx context.Context, storeID uint64) error {
	client, err := a.database()
	if err != nil {
		return err
	}
	if err := client.RemoveEvictLeader(ctx, storeID); err != nil {
		return fmt.Errorf("remove evict-leader scheduler of store %d: %w", storeID, err)
	}
	evicting, err := isEvicting(ctx, client, storeID)
	if err != nil {
		return err
	}
	if evicting {
		return fmt.Errorf("remove evict-leader scheduler of store %d: PD still lists it", storeID)
	}
	return nil
}

func isEvicting(ctx context.Context, client pd.Client, storeID uint64) (bool, error) {
	stores, err := client.EvictLeaderStores(ctx)
	if err != nil {
		return false, fmt.Errorf("read evict-leader schedulers: %w", err)
	}
	return slices.Contains(stores, storeID), nil
}

// ledger reads the ledger, nil when there is none yet.
func (a *Actor) ledger(ctx context.Context) (*corev1.ConfigMap, error) {
	book, err := a.kube.CoreV1().ConfigMaps(a.cluster.Namespace).Get(ctx, a.cluster.LedgerMap(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, failed("get", a.ledgerName(), err)
	}
	return book, a.ours(a.ledgerName(), book)
}

func (a *Actor) remember(ctx context.Context, book *corev1.ConfigMap, storeID uint64, r ledger.Record) error {
	value, err := ledger.Encode(r)
	if err != nil {
		return err
	}
	data := map[string]string{ledger.Key(storeID): value}
	if book != nil {
		return a.patchLedger(ctx, map[string]any{"data": data})
	}
	controller := true
	_, err = a.kube.CoreV1().ConfigMaps(a.cluster.Namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: a.cluster.LedgerMap(), Namespace: a.cluster.Namespace, Labels: a.cluster.Selector(),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "pingcap.com/v1alpha1", Kind: "TidbCluster",
				Name: a.cluster.Name, UID: a.cluster.UID, Controller: &controller,
			}},
		},
		Data: data,
	}, metav1.CreateOptions{FieldManager: fieldManager})
	switch {
	case apierrors.IsAlreadyExists(err):
		return stale(a.ledgerName(), "exists by now")
	case err != nil:
		return failed("create", a.ledgerName(), err)
	}
	return nil
}

func (a *Actor) forget(ctx context.Context, storeID uint64) error {
	return a.patchLedger(ctx, map[string]any{"data": map[string]any{ledger.Key(storeID): nil}})
}

// patchLedger touches single keys only: others may be a later version's.
func (a *Actor) patchLedger(ctx context.Context, patch map[string]any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encode patch of %s: %w", a.ledgerName(), err)
	}
	_, err = a.kube.CoreV1().ConfigMaps(a.cluster.Namespace).Patch(ctx, a.cluster.LedgerMap(),
		types.MergePatchType, body, metav1.PatchOptions{FieldManager: fieldManager})
	switch {
	case apierrors.IsNotFound(err):
		return stale(a.ledgerName(), "is gone")
	case err != nil:
		return failed("patch", a.ledgerName(), err)
	}
	return nil
}

func (a *Actor) ledgerName() string { return "configmap " + a.cluster.LedgerMap() }
