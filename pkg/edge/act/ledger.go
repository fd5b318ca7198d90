package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/ledger"
)

// forgetRecord deletes the record of a removal or a scheduler that has ended in PD. It asks PD once
// more: without its record a removal would not be completed, and a scheduler not removed.
func (a *Actor) forgetRecord(ctx context.Context, s plan.ForgetRecord) error {
	book, err := a.ledger(ctx)
	if err != nil {
		return err
	}
	record, known := ledger.Decode(book, s.Record, s.StoreID)
	if !known {
		return nil
	}
	if s.Record == state.RecordEviction && record.Ended.IsZero() {
		return stale("the eviction of region leaders from "+s.Member, "has not ended")
	}
	if s.Record == state.RecordRemoval {
		if err := a.removalOver(ctx, s.StoreID); err != nil {
			return err
		}
	}
	return a.forget(ctx, s.Record, s.StoreID)
}

func (a *Actor) removalOver(ctx context.Context, storeID uint64) error {
	client, err := a.database()
	if err != nil {
		return err
	}
	store, err := client.Store(ctx, storeID)
	switch {
	case errors.Is(err, pd.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("read store %d: %w", storeID, err)
	case store.State == pd.StoreOffline:
		return stale(storeName(storeID), "is still being removed")
	}
	return nil
}

// ledger returns the ledger, nil when there is none yet.
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

func (a *Actor) remember(
	ctx context.Context, book *corev1.ConfigMap, of state.Record, storeID uint64, r ledger.Record,
) error {
	value, err := ledger.Encode(r)
	if err != nil {
		return err
	}
	return a.writeRecord(ctx, book, ledger.Key(of, storeID), value)
}

// recordTemplate records which version made the pod template that a StatefulSet is
// about to get. It is written first: if the run is killed in between, no
// StatefulSet has the recorded template, and the record has no effect. In the other
// order the template would be in use without a record, and an older version would
// roll it back.
//
// A record that another process has written since the observation is not replaced: it
// may be that of a newer version, whose template would then be without one.
func (a *Actor) recordTemplate(ctx context.Context, s plan.Apply) error {
	if s.Object.Record == (state.Template{}) {
		return nil
	}
	key, value, err := ledger.EncodeTemplate(s.Component, s.Object.Record)
	if err != nil {
		return err
	}
	book, err := a.ledger(ctx)
	switch {
	case err != nil || book != nil && book.Data[key] == value:
		return err
	case ledger.Read(book).Templates[s.Component] != s.Object.Recorded:
		return stale("the record of the pod template of "+s.Component.Title(), "was written by another process")
	}
	if err := a.unchanged(ctx, s); err != nil {
		return err
	}
	return a.writeRecord(ctx, book, key, value)
}

func (a *Actor) writeRecord(ctx context.Context, book *corev1.ConfigMap, key, value string) error {
	data := map[string]string{key: value}
	if book != nil {
		return a.patchLedger(ctx, map[string]any{"data": data})
	}
	controller := true
	_, err := a.kube.CoreV1().ConfigMaps(a.cluster.Namespace).Create(ctx, &corev1.ConfigMap{
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

func (a *Actor) forget(ctx context.Context, of state.Record, storeID uint64) error {
	return a.patchLedger(ctx, map[string]any{"data": map[string]any{ledger.Key(of, storeID): nil}})
}

// patchLedger changes single keys only: a later version may have written the
// others.
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
