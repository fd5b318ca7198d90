package topology

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestReplicasOfLastChange: a change of numbers of members, and of nothing else, is a scale.
func TestReplicasOfLastChange(t *testing.T) {
	for back, want := range map[string]struct {
		before map[Kind]int
		only   bool
	}{
		`{"tikv":{"replicas":3}}`:                       {map[Kind]int{TiKV: 3}, true},
		`{"tikv":{"replicas":3},"tidb":{"replicas":0}}`: {map[Kind]int{TiKV: 3, TiDB: 0}, true},
		`{"tikv":{"replicas":3},"version":"v8.1.0"}`:    {map[Kind]int{TiKV: 3}, false},
		`{"tikv":{"replicas":3,"image":"x"}}`:           {map[Kind]int{TiKV: 3}, false},
		`{"tikv":{"replicas":null}}`:                    {map[Kind]int{}, false},
		`{"tikv":{"requests":{"storage":"1Gi"}}}`:       {map[Kind]int{}, false},
		`{"tikv":null}`:                                 {map[Kind]int{}, false},
		`{"labels":{"replicas":3}}`:                     {map[Kind]int{}, false},
		`{}`:                                            {map[Kind]int{}, false},
		`[]`:                                            {nil, false},
	} {
		before, only := LastChange{Back: json.RawMessage(back)}.Replicas()
		if !maps.Equal(before, want.before) || only != want.only {
			t.Errorf("%s: %v, %t", back, before, only)
		}
	}
}

// TestLastChangeOfSlots: slots that were changed alone are a change of members, and the last one only as long as they stay.
func TestLastChangeOfSlots(t *testing.T) {
	tc := valid()
	AskSlots(tc, TiKV, []int{1})
	last := LastChange{Action: "scale tikv=3", Back: json.RawMessage("{}"), Slots: map[Kind][]int{TiKV: {}}}
	tc.Annotations[AnnotationLastChange] = last.Record(tc)
	got, recorded := LastChangeOf(tc)
	if _, only := got.Replicas(); !recorded || !only || len(got.Slots) != 1 {
		t.Errorf("%t, %t, %+v", recorded, only, got)
	}
	if before := ReplicasBefore(tc); before[TiKV] != int(tc.Spec.TiKV.Replicas) || len(before) != 1 {
		t.Errorf("before: %v", before)
	}
	AskSlots(tc, TiKV, []int{2})
	if got.IsLast(tc) {
		t.Error("other slots were written since")
	}
}

// TestReplicasBefore: what was before counts only while the recorded change is the last one.
func TestReplicasBefore(t *testing.T) {
	tc := &v1alpha1.TidbCluster{Spec: v1alpha1.TidbClusterSpec{Version: "v8.1.0"}}
	if got := ReplicasBefore(tc); got != nil {
		t.Errorf("nothing is recorded: %v", got)
	}
	last := LastChange{Action: "scale tikv=4", Back: json.RawMessage(`{"tikv":{"replicas":3}}`)}
	tc.ObjectMeta = metav1.ObjectMeta{Annotations: map[string]string{AnnotationLastChange: last.Record(tc)}}
	if got := ReplicasBefore(tc); got[TiKV] != 3 {
		t.Errorf("%v", got)
	}
	tc.Spec.Version = "v8.1.1"
	if got := ReplicasBefore(tc); got != nil {
		t.Errorf("the spec was changed since: %v", got)
	}
}
