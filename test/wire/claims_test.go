package wire

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// TestClaimsGoWithPods: a person has set that Kubernetes deletes the claims of pods that are scaled away. No store
// leaves PD for a scale-in that cannot end then, and the message names the field and who wrote it.
func TestClaimsGoWithPods(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 4, TiDB: 1}, func(t *testing.T, w *World) {
		retain := func(scaled appsv1.PersistentVolumeClaimRetentionPolicyType) {
			w.changeSet(topology.TiKV, func(s *appsv1.StatefulSet) {
				s.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
					WhenScaled: scaled, WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
				}
			})
		}
		retain(appsv1.DeletePersistentVolumeClaimRetentionPolicyType)
		text, writes := w.attempt(t, 30*time.Second, "scale", "basic", "tikv=3", "--yes")
		wantText(t, text, "persistentVolumeClaimRetentionPolicy.whenScaled: Delete (written last by kubectl-edit)")
		wantNone(t, writes, "POST", schedulers)
		wantNone(t, writes, "DELETE", stores)
		retain(appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
		w.Must(t, 0, "sync", "basic", "--yes")
	})
}

// TestClaimsGoWithSpare: a spare store could not leave again, so none is added, and nothing is asked for.
func TestClaimsGoWithSpare(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		keep := func(scaled appsv1.PersistentVolumeClaimRetentionPolicyType) {
			w.changeSet(topology.TiKV, func(s *appsv1.StatefulSet) {
				s.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
					WhenScaled: scaled, WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
				}
			})
		}
		keep(appsv1.DeletePersistentVolumeClaimRetentionPolicyType)
		before := w.Model.ClaimsOf(topology.TiKV)
		text, writes := w.attempt(t, time.Minute, "replace", "basic", "tikv-1", "--spare", "--yes")
		wantText(t, text, "persistentVolumeClaimRetentionPolicy.whenScaled: Delete (written last by kubectl-edit), so that the spare member could not leave again")
		wantText(t, text, "have Kubernetes keep them: kubectl patch statefulset basic-tikv")
		wantNone(t, writes, "PATCH", "tidbclusters")
		keep(appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
		w.Must(t, 0, "replace", "basic", "tikv-1", "--spare", "--yes")
		if after := w.Model.ClaimsOf(topology.TiKV); after[1] == before[1] {
			t.Errorf("claims %v, were %v", after, before)
		}
	})
}
