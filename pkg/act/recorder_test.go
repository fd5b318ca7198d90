package act

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

type patches []string

func (p *patches) PatchStatus(_ context.Context, namespace, name string, patch []byte) error {
	*p = append(*p, namespace+"/"+name+" "+string(patch))
	return nil
}

func TestRecorder(t *testing.T) {
	tc := &v1alpha1.TidbCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic", ResourceVersion: "5"},
		Spec:       v1alpha1.TidbClusterSpec{PD: &v1alpha1.PDSpec{Replicas: 3}},
	}
	var wrote patches
	r := NewRecorder(&wrote, func() render.Existing { return render.Existing{} })
	snap := state.Snapshot{At: now, PD: state.PD{ClusterID: 42, Leader: "basic-pd-0", Members: 3, Healthy: 3}}
	record := func() {
		t.Helper()
		w := plan.Wanted{Cluster: topology.New(tc)}
		if err := r.Record(t.Context(), w, snap, plan.Plan{}); err != nil {
			t.Fatal(err)
		}
	}
	record()
	if len(wrote) != 1 {
		t.Fatalf("wrote %q", wrote)
	}
	var patch map[string]json.RawMessage
	if err := json.Unmarshal([]byte(wrote[0][len("db/basic "):]), &patch); err != nil {
		t.Fatal(err)
	}
	if len(patch) != 1 || patch["status"] == nil {
		t.Errorf("patches more than the status: %s", wrote[0])
	}
	record() // a cache that has not seen the write yet
	if len(wrote) != 1 {
		t.Errorf("wrote the same again: %q", wrote[1:])
	}
	// What was written is read back.
	merged := struct{ Status v1alpha1.TidbClusterStatus }{tc.Status}
	if err := json.Unmarshal([]byte(wrote[0][len("db/basic "):]), &merged); err != nil {
		t.Fatal(err)
	}
	tc.Status, tc.ResourceVersion = merged.Status, "6"
	record()
	if len(wrote) != 1 {
		t.Errorf("wrote what is there already: %q", wrote[1:])
	}
}

func TestStatusPatch(t *testing.T) {
	for _, tt := range []struct{ name, from, to, want string }{
		{"equal", `{"a":1,"t":null}`, `{"t":null,"a":1}`, ``},
		{"changed", `{"a":1,"b":{"c":2,"d":3}}`, `{"a":1,"b":{"c":4,"d":3}}`, `{"status":{"b":{"c":4}}}`},
		{"removed", `{"stores":{"1":{},"2":{}}}`, `{"stores":{"2":{}}}`, `{"status":{"stores":{"1":null}}}`},
		{"added", `{}`, `{"a":1}`, `{"status":{"a":1}}`},
	} {
		got, err := statusPatch(json.RawMessage(tt.from), json.RawMessage(tt.to))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v", tt.name, got, err)
		}
	}
}
