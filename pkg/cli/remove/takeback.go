package remove

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/ledger"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

// What a deletion does not take back within these times stays recorded.
const (
	// driverWithin bounds how long a deletion waits until nobody else drives the cluster. The lease of a run that was
	// killed on another machine lasts for 30 s from when the deletion sees it first.
	driverWithin = 45 * time.Second
	// takeBackWithin bounds how long a deletion waits for PD after that.
	takeBackWithin = 30 * time.Second
)

// takeBack ends what a run has begun in PD and not ended. An example is an evict-leader scheduler of a run that was
// killed. It does so before PD's pods go, since PD keeps that in its data, and the data stays. The record of a pause
// of DDL goes with the TidbCluster, so that nobody would end the pause later. Nothing depends on it. Where PD does
// not answer, or another process drives the cluster, the ledger outlives the TidbCluster. The next TidbCluster on
// the same data finds the records.
func (d *deletion) takeBack(ctx context.Context, f *factory.Factory) {
	book, err := d.ledger(ctx)
	if open := err == nil && ledger.Outlives(book, ""); !open && !d.cluster.DDLPause.Recorded {
		return
	}
	d.say(fmt.Sprintf("deleting %s: what a run has begun in PD is taken back", target.Title(d.cluster)))
	ctx, cancel := context.WithTimeout(ctx, driverWithin+takeBackWithin)
	defer cancel()
	_ = drive.Alone(ctx, f, d.session, func(ctx context.Context, e reconcile.Engine) error {
		ctx, cancel := context.WithTimeout(ctx, takeBackWithin)
		defer cancel()
		return e.Mend(ctx, func(w desired.State, s state.Snapshot, _ plan.Plan) []step.Step {
			if !s.PD.Known() || ctx.Err() != nil {
				return nil // each step asks PD, and goes on when this time is over
			}
			return plan.TakeBack(w, s)
		}, func(step.Step, error) {})
	})
}

// withData has the ledger go with the TidbCluster: without the data its records are of no use.
func (d *deletion) withData(ctx context.Context) {
	book, err := d.ledger(ctx)
	if err != nil || metav1.GetControllerOf(book) != nil {
		return
	}
	owner := metav1.OwnerReference{
		APIVersion: "pingcap.com/v1alpha1", Kind: "TidbCluster", Name: d.cluster.Name, UID: d.cluster.UID, Controller: new(true),
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": book.UID, "resourceVersion": book.ResourceVersion, "ownerReferences": []metav1.OwnerReference{owner},
	}})
	if err == nil { // otherwise it stays, and is named
		_, _ = d.kube.CoreV1().ConfigMaps(book.Namespace).Patch(ctx, book.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "kubectl-tidb"})
	}
}

// recordsStay says that records of what was done in PD have outlived the TidbCluster.
func (d *deletion) recordsStay(ctx context.Context, withData bool) string {
	book, err := d.ledger(ctx)
	if err != nil || metav1.GetControllerOf(book) != nil || !ledger.Outlives(book, "") {
		return ""
	}
	if withData {
		return fmt.Sprintf("ConfigMap %s stays, and nothing needs it any more: %s\n", book.Name, d.cluster.Kubectl("delete", "configmap", book.Name).Line(d.context))
	}
	return fmt.Sprintf("what a run had begun in PD was not taken back; it is recorded in ConfigMap %s, and ends when a cluster of this name goes on with the data\n", book.Name)
}

func (r remains) ledger(ctx context.Context) (*corev1.ConfigMap, error) {
	return r.kube.CoreV1().ConfigMaps(r.cluster.Namespace).Get(ctx, r.cluster.LedgerMap(), metav1.GetOptions{})
}
