package topology_test

import (
	"slices"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func TestFailures(t *testing.T) {
	early := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	late := metav1.NewTime(early.Add(time.Minute))
	tc := &v1alpha1.TidbCluster{}
	tc.Spec.PD = &v1alpha1.PDSpec{Replicas: 3}
	tc.Spec.TiKV = &v1alpha1.TiKVSpec{Replicas: 3}
	tc.Spec.TiDB = &v1alpha1.TiDBSpec{Replicas: 2}
	tc.Status.PD.FailureMembers = map[string]v1alpha1.PDFailureMember{
		"b": {PodName: "t-pd-1", MemberID: "12", PVCUID: "old", CreatedAt: late},
		"a": {PodName: "t-pd-0", MemberID: "11", PVCUIDSet: map[types.UID]v1alpha1.EmptyStruct{"y": {}, "x": {}}, CreatedAt: early, MemberDeleted: true},
	}
	tc.Status.TiKV.FailureStores = map[string]v1alpha1.TiKVFailureStore{
		"4": {PodName: "t-tikv-2", StoreID: "4", CreatedAt: early, HostDown: true},
		"1": {PodName: "t-tikv-1", StoreID: "1", CreatedAt: early},
	}
	tc.Status.TiDB.FailureMembers = map[string]v1alpha1.TiDBFailureMember{"t-tidb-0": {PodName: "t-tidb-0", CreatedAt: early}}
	c := topology.New(tc)
	for k, want := range map[topology.Kind]int{topology.PD: 4, topology.TiKV: 5, topology.TiDB: 3} {
		if g, _ := c.Group(k); g.Size() != want {
			t.Errorf("%s has size %d, want %d", k, g.Size(), want)
		}
	}
	pd, _ := c.Group(topology.PD)
	first, ok := pd.Failure("t-pd-0")
	if !ok || first.ID != 11 || !slices.Equal(first.Claims, []string{"x", "y"}) || !first.Deleted || pd.Failures[0].Member != first.Member {
		t.Errorf("got %+v", pd.Failures)
	}
	if f, _ := pd.Failure("t-pd-1"); !slices.Equal(f.Claims, []string{"old"}) {
		t.Errorf("the claim of an old record is lost: %+v", f)
	}
	kv, _ := c.Group(topology.TiKV)
	if kv.Failures[0].Member != "t-tikv-1" || !kv.Failures[1].Discarded {
		t.Errorf("got %+v", kv.Failures)
	}
	if _, ok := kv.Failure("t-tikv-0"); ok {
		t.Error("a member without a record has one")
	}
}
