package act

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// stored is a TidbCluster in an API server whose definition has no status subresource, and no
// observedGeneration if old is set.
type stored struct {
	u       map[string]any
	old     bool // the definition does not know observedGeneration
	patches []string
	clash   func() // another write, just before the next patch
}

func (o *stored) PatchStatus(_ context.Context, namespace, name string, patch []byte) error {
	if clash := o.clash; clash != nil {
		o.clash = nil
		clash()
	}
	o.patches = append(o.patches, string(patch))
	var p struct{ Metadata metav1.ObjectMeta }
	if err := json.Unmarshal(patch, &p); err != nil {
		return err
	}
	if meta := o.u["metadata"].(map[string]any); p.Metadata.ResourceVersion != meta["resourceVersion"] {
		return fmt.Errorf("patch status: %w", apierrors.NewConflict(schema.GroupResource{Resource: "tidbclusters"}, name, errors.New("modified")))
	}
	o.merge(string(patch))
	return nil
}

// merge merges a patch as the API server does.
func (o *stored) merge(patch string) {
	meta := o.u["metadata"].(map[string]any)
	before, _ := json.Marshal(o.u)
	merged, err := jsonpatch.MergePatch(before, []byte(patch))
	if err != nil {
		panic(err)
	}
	o.u = nil
	if err := json.Unmarshal(merged, &o.u); err != nil {
		panic(err)
	}
	if status, ok := o.u["status"].(map[string]any); ok && o.old {
		delete(status, "observedGeneration")
	}
	o.u["metadata"] = meta
	if after, _ := json.Marshal(o.u); !bytes.Equal(before, after) {
		meta["generation"] = meta["generation"].(float64) + 1
		meta["resourceVersion"] = "v" + strconv.Itoa(int(meta["generation"].(float64)))
	}
}

func (o *stored) Load(ctx context.Context, namespace, name string) (*v1alpha1.TidbCluster, error) {
	dyn := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{intent.Resource: "TidbClusterList"}, &unstructured.Unstructured{Object: o.integers()})
	return intent.New(dyn).Load(ctx, namespace, name)
}

// integers returns the object as a client reads it.
func (o *stored) integers() map[string]any {
	data, _ := json.Marshal(o.u)
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		panic(err)
	}
	return u.Object
}

func newStored() *stored {
	return &stored{u: map[string]any{
		"apiVersion": "pingcap.com/v1alpha1", "kind": "TidbCluster",
		"metadata": map[string]any{"namespace": "db", "name": "basic", "uid": "u", "resourceVersion": "v5", "generation": 5.},
		"spec":     map[string]any{"pd": map[string]any{"replicas": 3.}},
	}}
}

// believed reports whether "kubectl wait --for=condition=Ready" ends, by the rules
// of kubectl.
func (o *stored) believed() bool {
	status, _ := o.u["status"].(map[string]any)
	if seen, ok := status["observedGeneration"].(float64); ok && seen < o.u["metadata"].(map[string]any)["generation"].(float64) {
		return false
	}
	all, _ := status["conditions"].([]any)
	return len(all) == 1 && all[0].(map[string]any)["status"] == "True"
}

// recording observes the TidbCluster and records the outcome of a plan.
func (o *stored) recording(t *testing.T, r *Recorder, outcome plan.Outcome) (wrote int) {
	t.Helper()
	tc, err := o.Load(t.Context(), "db", "basic")
	if err != nil {
		t.Fatal(err)
	}
	return o.recorded(t, r, tc, outcome)
}

func (o *stored) recorded(t *testing.T, r *Recorder, tc *v1alpha1.TidbCluster, outcome plan.Outcome) (wrote int) {
	t.Helper()
	before := len(o.patches)
	snap := state.Snapshot{At: now, PD: state.PD{ClusterID: 42, Leader: "basic-pd-0", Members: 3, Healthy: 3}}
	if err := r.Record(t.Context(), state.Observation{Snapshot: snap}, desired.State{Cluster: topology.New(tc)}, plan.Plan{Outcome: outcome}); err != nil {
		t.Fatal(err)
	}
	return len(o.patches) - before
}

func recorder(o *stored) *Recorder {
	return NewRecorder(o)
}

func TestRecorder(t *testing.T) {
	for _, old := range []bool{false, true} {
		o := newStored()
		o.old = old
		r := recorder(o)
		stale, err := o.Load(t.Context(), "db", "basic")
		if err != nil {
			t.Fatal(err)
		}
		if wrote := o.recording(t, r, plan.Converged); wrote != 1 || !o.believed() {
			t.Fatalf("old definition %v: wrote %d, %v", old, wrote, o.u)
		}
		if wrote := o.recorded(t, r, stale, plan.Converged); wrote != 0 {
			t.Errorf("old definition %v: a cache that has not seen the write: wrote %q", old, o.patches[1:])
		}
		for range 3 {
			if wrote := o.recording(t, r, plan.Converged) + o.recording(t, recorder(o), plan.Converged); wrote != 0 {
				t.Errorf("old definition %v: wrote what is there already: %q", old, o.patches[1:])
			}
		}
		var patch map[string]map[string]any
		if err := json.Unmarshal([]byte(o.patches[0]), &patch); err != nil {
			t.Fatal(err)
		}
		if len(patch) != 2 || patch["status"] == nil || len(patch["metadata"]) != 2 {
			t.Errorf("patches more than the status: %s", o.patches[0])
		}
	}
}

// After a change of the spec an earlier Ready does not count until the cluster was observed again.
// The new generation that a write of the status makes does not have this effect.
func TestReadyOfEarlierGeneration(t *testing.T) {
	t.Run("pd-A14 tidb-B19: not believed after a change", func(t *testing.T) {
		o := newStored()
		r := recorder(o)
		o.recording(t, r, plan.Converged)
		o.merge(`{"spec":{"pd":{"replicas":5}}}`)
		if o.believed() {
			t.Error("the Ready of the earlier spec counts")
		}
		tc, err := o.Load(t.Context(), "db", "basic")
		if err != nil {
			t.Fatal(err)
		}
		if c := tc.Status.Conditions[0]; c.Status != corev1.ConditionUnknown || c.Reason != intent.ReasonOutdated {
			t.Errorf("loaded: %+v", c)
		}
		if o.recording(t, r, plan.Wait) != 1 || o.believed() {
			t.Error("Ready while there is something to do")
		}
		if o.recording(t, r, plan.Converged) != 1 || !o.believed() {
			t.Error("not Ready when converged")
		}
	})
	t.Run("a change with nothing to do", func(t *testing.T) {
		o := newStored()
		r := recorder(o)
		o.recording(t, r, plan.Converged)
		o.merge(`{"spec":{"paused":false}}`)
		if o.recording(t, r, plan.Converged) != 1 || !o.believed() || o.recording(t, r, plan.Converged) != 0 {
			t.Errorf("not recorded once: %q", o.patches)
		}
	})
	t.Run("the spec changes before the write", func(t *testing.T) {
		o := newStored()
		o.clash = func() { o.merge(`{"spec":{"pd":{"replicas":5}}}`) }
		if o.recording(t, recorder(o), plan.Converged) != 1 || o.u["status"] != nil {
			t.Errorf("recorded for a spec that was not observed: %v", o.u["status"])
		}
	})
	t.Run("the status changes before the write", func(t *testing.T) {
		o := newStored()
		o.clash = func() { o.merge(`{"status":{"clusterID":"7","tikv":{"failoverUID":"f"}}}`) }
		if o.recording(t, recorder(o), plan.Converged) != 2 || !o.believed() {
			t.Errorf("not recorded: %v", o.u)
		}
		if tikv := o.u["status"].(map[string]any)["tikv"].(map[string]any); tikv["failoverUID"] != "f" {
			t.Errorf("what another process wrote is gone: %v", tikv)
		}
	})
	t.Run("recreated before the write", func(t *testing.T) {
		o := newStored()
		o.clash = func() {
			o.u = newStored().u
			meta := o.u["metadata"].(map[string]any)
			meta["uid"], meta["resourceVersion"] = "another", "v9"
		}
		if o.recording(t, recorder(o), plan.Converged) != 1 || o.u["status"] != nil {
			t.Errorf("recorded in another cluster: %v", o.u)
		}
	})
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
