package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/ledger"
)

// forgetRecord deletes the record of a removal or a scheduler that has ended in PD. It asks PD once
// more: without its record a removal would not be completed, and a scheduler not removed.
func (a *Actor) forgetRecord(ctx context.Context, s step.ForgetRecord) error {
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
	return a.forget(ctx, book, s.Record, s.StoreID)
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

// ledger returns the ledger without records about another PD cluster, nil when there is none yet. It fails where PD
// does not say which cluster it is. A record about another cluster would let a scheduler of somebody else look like
// ours.
func (a *Actor) ledger(ctx context.Context) (*corev1.ConfigMap, error) {
	book, err := a.book(ctx)
	if err != nil || !ledger.TiesTo(book) {
		return book, err
	}
	cluster, err := a.clusterID(ctx)
	if err != nil {
		return nil, err
	}
	return ledger.Of(book, cluster), nil
}

func (a *Actor) clusterID(ctx context.Context) (uint64, error) {
	client, err := a.database()
	if err != nil {
		return 0, err
	}
	cluster, err := client.ClusterID(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the cluster id of PD: %w", err)
	}
	return cluster, nil
}

// book returns the ledger as it is, nil when there is none yet. Its records of pod templates and drains need no PD.
func (a *Actor) book(ctx context.Context) (*corev1.ConfigMap, error) {
	book, err := a.kube.CoreV1().ConfigMaps(a.cluster.Namespace).Get(ctx, a.cluster.LedgerMap(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, failed("get", a.ledgerName(), err)
	}
	return book, a.ours(a.ledgerName(), book)
}

// remember writes a record of what is about to be done in PD. From then on the ledger has no owner, so that the
// ledger outlives the TidbCluster. A cluster may be deleted with its data kept, and Kubernetes deletes an object
// together with the owner. Without the ledger, the next TidbCluster on the same data would take the scheduler for
// the work of another user. The scheduler would stay for ever.
func (a *Actor) remember(
	ctx context.Context, book *corev1.ConfigMap, of state.Record, storeID uint64, r ledger.Record,
) error {
	var err error
	if r.Cluster, err = a.clusterID(ctx); err != nil {
		return err
	}
	value, err := ledger.Encode(r)
	if err != nil {
		return err
	}
	key := ledger.Key(of, storeID)
	if book == nil {
		return a.createLedger(ctx, map[string]string{key: value}, nil)
	}
	data := ledger.Tie(book, r.Cluster)
	data[key] = value
	return a.patchLedger(ctx, map[string]any{"data": data, "metadata": map[string]any{"ownerReferences": nil}})
}

// recordTemplate records which version made the pod template that a StatefulSet is
// about to get. It is written first: if the run is killed in between, no
// StatefulSet has the recorded template, and the record has no effect. In the other
// order the template would be in use without a record, and an older version would
// roll it back.
//
// A record that another process has written since the observation is not replaced. It may be the record of a newer
// version, whose template would then be without one.
func (a *Actor) recordTemplate(ctx context.Context, s step.Apply) error {
	if s.Object.Record == (state.Template{}) {
		return nil
	}
	key, value, err := ledger.EncodeTemplate(s.Component, s.Object.Record)
	if err != nil {
		return err
	}
	book, err := a.book(ctx)
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

// recordAdvanced records that the cluster has AdvancedStatefulSets, before one of these is deleted to be made again. If the
// run is killed in between, the next one makes the same kind.
func (a *Actor) recordAdvanced(ctx context.Context, set *appsv1.StatefulSet) error {
	if !state.IsAdvanced(set.APIVersion) {
		return nil
	}
	book, err := a.book(ctx)
	if err != nil || ledger.Advanced(book) {
		return err
	}
	return a.writeRecord(ctx, book, ledger.SetsKey, ledger.RecordOfSets)
}

// forgetAdvanced deletes that record, because the StatefulSet itself shows the kind again. With a record that stays, the
// cluster could not be read once its API server no longer has AdvancedStatefulSets.
func (a *Actor) forgetAdvanced(ctx context.Context, set *appsv1.StatefulSet) error {
	if !state.IsAdvanced(set.APIVersion) {
		return nil
	}
	book, err := a.book(ctx)
	if err != nil || !ledger.Advanced(book) {
		return err
	}
	return a.patchLedger(ctx, map[string]any{"data": map[string]any{ledger.SetsKey: nil}})
}

func (a *Actor) writeRecord(ctx context.Context, book *corev1.ConfigMap, key, value string) error {
	data := map[string]string{key: value}
	if book != nil {
		return a.patchLedger(ctx, map[string]any{"data": data})
	}
	return a.createLedger(ctx, data, a.ownerReferences())
}

// ownerReferences are the owner references of an object that is deleted with the TidbCluster.
func (a *Actor) ownerReferences() []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: "pingcap.com/v1alpha1", Kind: "TidbCluster", Name: a.cluster.Name, UID: a.cluster.UID, Controller: new(true),
	}}
}

func (a *Actor) createLedger(ctx context.Context, data map[string]string, owners []metav1.OwnerReference) error {
	_, err := a.kube.CoreV1().ConfigMaps(a.cluster.Namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: a.cluster.LedgerMap(), Namespace: a.cluster.Namespace, Labels: a.cluster.Selector(), OwnerReferences: owners,
		},
		Data: data,
	}, metav1.CreateOptions{FieldManager: fieldManager})
	switch {
	case apierrors.IsAlreadyExists(err):
		return stale(a.ledgerName(), "exists now")
	case err != nil:
		return failed("create", a.ledgerName(), err)
	}
	return nil
}

// forget deletes a record. With the last one that has to outlive the TidbCluster the ledger gets its owner back, and is
// deleted with the TidbCluster again.
func (a *Actor) forget(ctx context.Context, book *corev1.ConfigMap, of state.Record, storeID uint64) error {
	key := ledger.Key(of, storeID)
	patch := map[string]any{"data": map[string]any{key: nil}}
	if book != nil && !ledger.Outlives(book, key) {
		patch["metadata"] = map[string]any{"ownerReferences": a.ownerReferences()}
	}
	return a.patchLedger(ctx, patch)
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
