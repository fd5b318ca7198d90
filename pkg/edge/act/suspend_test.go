package act

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func deleteOf(k topology.Kind) step.DeleteSet {
	return step.DeleteSet{Component: k, Name: cluster.SetName(k), Basis: of(k)}
}

func TestDeleteSet(t *testing.T) {
	w := newFixture(t, set(topology.TiKV, 3, 3), claim(topology.TiKV, 0, false))
	other := deleteOf(topology.TiKV)
	other.Basis.UID = "of-another"
	w.isStale(t, other)
	w.do(t, deleteOf(topology.TiKV))
	options := w.kube.Actions()[len(w.kube.Actions())-1].(clienttesting.DeleteActionImpl).DeleteOptions
	if p := options.PropagationPolicy; p == nil || *p != metav1.DeletePropagationForeground {
		t.Errorf("deleted with propagation %v: its pods could outlive it", p)
	}
	if p := options.Preconditions; p == nil || p.UID == nil || *p.UID != "uid-of-basic-tikv" {
		t.Errorf("deleted with preconditions %v", p)
	}
	w.kube.ClearActions()
	w.do(t, deleteOf(topology.TiKV)) // the answer got lost
	w.unchanged(t)
}

func TestDeleteSetThatIsGoing(t *testing.T) {
	s := set(topology.TiKV, 3, 3)
	s.DeletionTimestamp, s.Finalizers = &metav1.Time{Time: now}, []string{"foregroundDeletion"}
	w := newFixture(t, s)
	w.do(t, deleteOf(topology.TiKV))
	w.unchanged(t)
}

func TestDeleteSetOfOthers(t *testing.T) {
	s := set(topology.TiKV, 3, 3)
	s.OwnerReferences[0].Kind, s.OwnerReferences[0].Name, s.OwnerReferences[0].UID = "Deployment", "web", "web-uid"
	w := newFixture(t, s)
	if err := w.Do(t.Context(), deleteOf(topology.TiKV)); !isFinal(err) {
		t.Errorf("got %v", err)
	}
	w.unchanged(t)
}

// The StatefulSet's retention policy deletes the claims together with it.
func TestDeleteSetThatTakesItsClaims(t *testing.T) {
	s := set(topology.TiKV, 3, 3)
	s.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
	}
	w := newFixture(t, s)
	if err := w.Do(t.Context(), deleteOf(topology.TiKV)); !isFinal(err) {
		t.Errorf("got %v", err)
	}
	w.unchanged(t)
}

// A StatefulSet is created with a replica for each member that has data.
func TestCreateSetForMembersWithData(t *testing.T) {
	w := newFixture(t)
	wanted := set(topology.TiKV, 3, 3)
	w.do(t, step.Apply{Component: topology.TiKV, Replicas: 5, Object: desired.Object{
		Kind: "StatefulSet", Name: wanted.Name, Drift: desired.Missing, Manifest: wanted,
	}})
	live := liveSet(t, w, topology.TiKV)
	if replicas(live) != 5 || render.Partition(live) != 5 {
		t.Errorf("%d replicas, partition %d, want 5 and closed", replicas(live), render.Partition(live))
	}
	if replicas(wanted) != 3 {
		t.Error("changed the wanted object")
	}
}
