package render

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// suspend suspends components.
func (s *scene) suspend(kinds ...topology.Kind) {
	s.w.Cluster.Groups = slices.Clone(s.w.Cluster.Groups)
	for _, k := range kinds {
		for i := range s.w.Groups {
			if s.w.Groups[i].Kind == k {
				s.w.Groups[i].Suspend, s.w.Cluster.Groups[i].Suspend = true, true
			}
		}
		delete(s.have.Sets, k)
		s.snap.Groups[k] = state.Group{}
		if k == topology.PD {
			s.snap.PD = state.PD{Problem: "no PD pod is running", ClusterID: 7}
		}
	}
}

func TestStatusOfSuspendedCluster(t *testing.T) {
	s := healthyScene(t)
	old := s.status(v1alpha1.TidbClusterStatus{})
	old.PD.FailureMembers = map[string]v1alpha1.PDFailureMember{"basic-pd-2": {PodName: "basic-pd-2"}}
	old.TiKV.FailureStores = map[string]v1alpha1.TiKVFailureStore{"5": {PodName: "basic-tikv-2"}}
	old.TiDB.FailureMembers = map[string]v1alpha1.TiDBFailureMember{"basic-tidb-2": {PodName: "basic-tidb-2"}}
	old.TiKV.FailoverUID = "run"
	s.suspend(topology.PD, topology.TiKV, topology.TiDB)
	got := s.status(old)
	for k, phase := range map[topology.Kind]v1alpha1.MemberPhase{
		topology.PD: got.PD.Phase, topology.TiKV: got.TiKV.Phase, topology.TiDB: got.TiDB.Phase,
	} {
		if phase != v1alpha1.SuspendPhase {
			t.Errorf("%s has phase %s", k, phase)
		}
	}
	if got.PD.StatefulSet != nil || got.TiKV.StatefulSet != nil || got.TiDB.StatefulSet != nil {
		t.Error("a StatefulSet that is gone is in the status")
	}
	if len(got.PD.Members)+len(got.TiKV.Stores)+len(got.TiDB.Members) > 0 || got.PD.Leader.Name != "" {
		t.Errorf("members that are gone are in the status: %+v", got)
	}
	if got.ClusterID != "7" || len(got.PD.FailureMembers) != 1 || len(got.TiKV.FailureStores) != 1 ||
		len(got.TiDB.FailureMembers) != 1 || got.TiKV.FailoverUID != "run" {
		t.Errorf("what a resumed cluster needs is gone: %+v", got)
	}
	if c := got.Conditions[0]; c.Status != corev1.ConditionFalse || c.Reason != "Suspended" ||
		c.Message != "PD, TiKV and TiDB are suspended, as the spec asks for; the data is kept" {
		t.Errorf("condition %+v", c)
	}
	s.snap.At = later
	if diff := cmp.Diff(got, s.status(got)); diff != "" {
		t.Errorf("written again without a change:\n%s", diff)
	}
}

// One that is on its way out is suspended in phase, and shown as long as it is
// there.
func TestStatusOfSuspending(t *testing.T) {
	s := healthyScene(t)
	live := s.have.Sets[topology.TiDB]
	s.suspend(topology.TiDB)
	s.have.Sets[topology.TiDB] = live
	got := s.status(v1alpha1.TidbClusterStatus{})
	if got.TiDB.Phase != v1alpha1.NormalPhase || got.TiDB.StatefulSet == nil {
		t.Errorf("before its turn: phase %s", got.TiDB.Phase)
	}
	live.DeletionTimestamp = &atNoon
	got = s.status(v1alpha1.TidbClusterStatus{})
	if got.TiDB.Phase != v1alpha1.SuspendPhase || got.TiDB.StatefulSet == nil {
		t.Errorf("while it goes: phase %s", got.TiDB.Phase)
	}
	delete(s.have.Sets, topology.TiDB)
	got = s.status(got)
	if got.TiDB.StatefulSet != nil || got.PD.Phase != v1alpha1.NormalPhase {
		t.Errorf("when it is gone: %+v", got.TiDB)
	}
	if c := got.Conditions[0]; c.Reason != "Suspended" || c.Message != "TiDB is suspended, as the spec asks for; the data is kept" {
		t.Errorf("condition %+v", c)
	}
}

// A resumed PD bootstraps no cluster: with a known cluster id the ConfigMap has no founders.
func TestResumedPDFoundsNothing(t *testing.T) {
	s := healthyScene(t)
	s.suspend(topology.PD, topology.TiKV, topology.TiDB)
	delete(s.have.ConfigMaps, "basic-discovery")
	data := bootstrapMap(s.w.Cluster, s.have, s.snap).Data
	if data[keyInitial] != "" || data[keyClusterID] != "7" {
		t.Errorf("a resumed PD reads %v", data)
	}
}
