package intent

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func load(t *testing.T, c *Client) *v1alpha1.TidbCluster {
	t.Helper()
	tc, err := c.Load(t.Context(), "db", "basic")
	if err != nil {
		t.Fatal(err)
	}
	return tc
}

// changed changes the live object, as another writer does.
func changed(t *testing.T, dyn *fake.FakeDynamicClient, value any, path ...string) {
	t.Helper()
	u, err := dyn.Tracker().Get(Resource, "db", "basic")
	if err != nil {
		t.Fatal(err)
	}
	next := u.(*unstructured.Unstructured).DeepCopy()
	if err := unstructured.SetNestedField(next.Object, value, path...); err != nil {
		t.Fatal(err)
	}
	next.SetResourceVersion(next.GetResourceVersion() + "1")
	if err := dyn.Tracker().Update(Resource, next, "db"); err != nil {
		t.Fatal(err)
	}
}

func patched(dyn *fake.FakeDynamicClient) []string {
	var out []string
	for _, a := range dyn.Actions() {
		if p, ok := a.(clienttesting.PatchAction); ok {
			out = append(out, string(p.GetPatch()))
		}
	}
	return out
}

// made writes a change, and returns the TidbCluster.
func made(t *testing.T, c *Client, change Change, w Write) (*v1alpha1.TidbCluster, error) {
	t.Helper()
	if err := change.Write(t.Context(), w); err != nil {
		return nil, err
	}
	return load(t, c), nil
}

func scaled(t *testing.T, c *Client, tc *v1alpha1.TidbCluster, replicas map[topology.Kind]int32, w Write) (*v1alpha1.TidbCluster, error) {
	t.Helper()
	change, err := c.Scale(tc, replicas, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, n := range replicas {
		if change.Now != tc || *topology.Replicas(change.Want, k) != n {
			t.Errorf("wants %+v", change.Want.Spec)
		}
	}
	return made(t, c, change, w)
}

func TestScale(t *testing.T) {
	c, dyn := client(t, object(t, stored))
	tc := load(t, c)
	got, err := scaled(t, c, tc, map[topology.Kind]int32{topology.TiKV: 5, topology.PD: 3}, Write{})
	if err != nil || got.Spec.TiKV.Replicas != 5 {
		t.Fatalf("%v, %v", got, err)
	}
	want := []string{`{"metadata":{"resourceVersion":"5"},"spec":{"tikv":{"replicas":5}}}`}
	if sent := patched(dyn); !slices.Equal(sent, want) {
		t.Errorf("sent %q", sent)
	}
	live, _ := dyn.Tracker().Get(Resource, "db", "basic")
	if kept, _, _ := unstructured.NestedString(live.(*unstructured.Unstructured).Object, "spec", "fieldOfALaterVersion", "keep"); kept != "me" {
		t.Error("a field that our types do not know is lost")
	}
	if _, err := scaled(t, c, got, map[topology.Kind]int32{topology.TiKV: 5}, Write{}); err != nil || len(patched(dyn)) != 1 {
		t.Errorf("wrote a value that the spec has already: %v", err)
	}
}

func TestScaleRefuses(t *testing.T) {
	c, dyn := client(t, object(t, stored))
	tc := load(t, c)
	tc.Spec.PD = nil
	for _, replicas := range []map[topology.Kind]int32{{topology.PD: 3}, {topology.TiKV: 4, topology.PD: 3}, {"pump": 3}} {
		var missing *NoComponentError
		if _, err := c.Scale(tc, replicas, nil); !errors.As(err, &missing) {
			t.Errorf("%v: %v", replicas, err)
		}
	}
	if sent := patched(dyn); len(sent) > 0 {
		t.Errorf("sent %q", sent)
	}
}

func TestChangeDryRun(t *testing.T) {
	var query string
	c := served(t, func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.Query().Encode()
		answer(w, object(t, stored).Object)
	})
	change, err := c.Scale(load(t, c), map[topology.Kind]int32{topology.TiKV: 5}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := change.Write(t.Context(), Write{DryRun: true}); err != nil {
		t.Fatal(err)
	}
	if query != "dryRun=All&fieldManager=kubectl-tidb&fieldValidation=Strict" {
		t.Error(query)
	}
}

func TestPatchStatus(t *testing.T) {
	c, dyn := client(t, object(t, stored))
	if err := c.PatchStatus(t.Context(), "db", "basic", []byte(`{"status":{"clusterID":"42"}}`)); err != nil {
		t.Fatal(err)
	}
	if tc := load(t, c); tc.Status.ClusterID != "42" || tc.Spec.Version != "v8.1.0" {
		t.Errorf("status %v", tc.Status.ClusterID)
	}
	if err := c.PatchStatus(t.Context(), "db", "other", []byte(`{"status":{}}`)); !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
	if sent := patched(dyn); len(sent) != 2 {
		t.Errorf("sent %q", sent)
	}
}

// A driver that writes the status makes new versions all the time.
func TestScaleOverStatusWrites(t *testing.T) {
	c, dyn := client(t, object(t, stored))
	tc := load(t, c)
	changed(t, dyn, "42", "status", "clusterID")
	got, err := scaled(t, c, tc, map[topology.Kind]int32{topology.TiKV: 5}, Write{})
	if err != nil || got.Spec.TiKV.Replicas != 5 || got.Status.ClusterID != "42" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestScaleOverTheSameField(t *testing.T) {
	c, dyn := client(t, object(t, stored))
	tc := load(t, c)
	changed(t, dyn, int64(4), "spec", "tikv", "replicas")
	_, err := scaled(t, c, tc, map[topology.Kind]int32{topology.TiKV: 5}, Write{})
	var clash *ChangedError
	if !errors.As(err, &clash) || clash.What != "spec.tikv.replicas is 4 now, it was 3" {
		t.Errorf("got %v", err)
	}
	if live := load(t, c); live.Spec.TiKV.Replicas != 4 {
		t.Errorf("%d replicas", live.Spec.TiKV.Replicas)
	}
}

func TestScaleOfAnotherOfThatName(t *testing.T) {
	c, dyn := client(t, object(t, stored))
	tc := load(t, c)
	changed(t, dyn, "another", "metadata", "uid")
	_, err := scaled(t, c, tc, map[topology.Kind]int32{topology.TiKV: 5}, Write{})
	var clash *ChangedError
	if !errors.As(err, &clash) {
		t.Errorf("got %v", err)
	}
}

func TestSetVersion(t *testing.T) {
	c, dyn := client(t, object(t, stored))
	change, err := c.SetVersion(load(t, c), "v8.5.0", nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := made(t, c, change, Write{})
	if err != nil || got.Spec.Version != "v8.5.0" || change.Want.Spec.Version != "v8.5.0" || change.Now.Spec.Version != "v8.1.0" {
		t.Fatalf("%v, %v", got, err)
	}
	if pins := Pinned(change.Want); !slices.Equal(pins, []Pin{{"tidb", "v8.0.0"}}) {
		t.Errorf("pinned %v", pins)
	}
	if sent := patched(dyn); !slices.Equal(sent, []string{`{"metadata":{"resourceVersion":"5"},"spec":{"version":"v8.5.0"}}`}) {
		t.Errorf("sent %q", sent)
	}
}

// TestSetVersionOfTiProxy: its version is set only where there is one, and only if it is asked for.
func TestSetVersionOfTiProxy(t *testing.T) {
	old := "v1.0.0"
	tc := &v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"}, Spec: v1alpha1.TidbClusterSpec{Version: "v8.1.0"}}
	var none *NoComponentError
	if _, err := (&Client{}).SetVersion(tc, "v8.5.0", map[topology.Kind]string{topology.TiProxy: "v1.3.0"}); !errors.As(err, &none) || none.Component != topology.TiProxy {
		t.Errorf("without TiProxy: %v", err)
	}
	tc.Spec.TiProxy = &v1alpha1.TiProxySpec{BaseImage: "pingcap/tiproxy", ComponentSpec: v1alpha1.ComponentSpec{Version: &old}}
	for _, c := range []struct {
		asked map[topology.Kind]string
		want  string
	}{{nil, "v1.0.0"}, {map[topology.Kind]string{topology.TiProxy: "v1.3.0"}, "v1.3.0"}} {
		change, err := (&Client{}).SetVersion(tc, "v8.5.0", c.asked)
		if err != nil {
			t.Fatal(err)
		}
		if got := change.Want.Spec; got.Version != "v8.5.0" || *got.TiProxy.Version != c.want || *tc.Spec.TiProxy.Version != old {
			t.Errorf("asked for %v: %s and %s", c.asked, got.Version, *got.TiProxy.Version)
		}
		if pins := Pinned(change.Want); len(pins) > 0 {
			t.Errorf("pinned %v", pins)
		}
	}
}

func TestPinned(t *testing.T) {
	version := "v7.5.0"
	tc := &v1alpha1.TidbCluster{Spec: v1alpha1.TidbClusterSpec{
		Version: "v8.1.0",
		PD:      &v1alpha1.PDSpec{BaseImage: "registry:5000/pd"},
		TiKV:    &v1alpha1.TiKVSpec{BaseImage: "pingcap/tikv", ComponentSpec: v1alpha1.ComponentSpec{Image: "ignored:v1"}},
		TiDB:    &v1alpha1.TiDBSpec{BaseImage: "pingcap/tidb", ComponentSpec: v1alpha1.ComponentSpec{Version: &version}},
		Pump:    &v1alpha1.PumpSpec{BaseImage: "pingcap/tidb-binlog"},
	}}
	if got := Pinned(tc); !slices.Equal(got, []Pin{{"tidb", "v7.5.0"}}) {
		t.Errorf("got %v", got)
	}
	if tc.Spec.Version = "v7.5.0"; len(Pinned(tc)) != 0 {
		t.Errorf("a component with the same version as spec.version is pinned: %v", Pinned(tc))
	}
	if tc.Spec.PD.StartTimeout != 0 {
		t.Error("the argument was changed")
	}
}

// TestRecover: recovery is requested once, for the failovers that exist, and is refused when others
// have begun since.
func TestRecover(t *testing.T) {
	c, dyn := client(t, object(t, stored))
	if _, ok := c.Recover(load(t, c), topology.TiKV); ok {
		t.Error("a cluster without a failover has something to recover from")
	}
	begin := func(uid string) {
		changed(t, dyn, uid, "status", "tikv", "failoverUID")
		changed(t, dyn, map[string]any{"podName": "basic-tikv-2", "storeID": "4"}, "status", "tikv", "failureStores", "4")
	}
	begin("f1")
	tc := load(t, c)
	for _, k := range []topology.Kind{topology.PD, topology.TiDB} {
		if _, ok := c.Recover(tc, k); ok {
			t.Errorf("%s recovers by itself", k)
		}
	}
	change, ok := c.Recover(tc, topology.TiKV)
	if !ok || tc.Spec.TiKV.Failover != nil || change.Want.Spec.TiKV.Failover.RecoverByUID != "f1" {
		t.Fatalf("%v, wants %+v", ok, change.Want.Spec.TiKV.Failover)
	}
	two := tc.DeepCopy()
	two.Spec.TiFlash, two.Status.TiFlash.FailoverUID = &v1alpha1.TiFlashSpec{}, "f3"
	two.Status.TiFlash.FailureStores = map[string]v1alpha1.TiKVFailureStore{"51": {PodName: "basic-tiflash-0", StoreID: "51"}}
	both, _ := c.Recover(two, topology.TiKV, topology.TiFlash)
	if s := both.Want.Spec; s.TiKV.Failover == nil || s.TiKV.Failover.RecoverByUID != "f1" || s.TiFlash.Failover == nil || s.TiFlash.Failover.RecoverByUID != "f3" {
		t.Errorf("with failovers of both, it wants %+v of TiKV and %+v of TiFlash", s.TiKV.Failover, s.TiFlash.Failover)
	}
	if _, ok := c.Recover(change.Want, topology.TiKV); ok {
		t.Error("asks twice for the same recovery")
	}
	begin("f2")
	var clash *ChangedError
	if _, err := made(t, c, change, Write{}); !errors.As(err, &clash) || clash.What != "status.tikv.failoverUID is f2 now, it was f1" {
		t.Errorf("got %v", err)
	}
	begin("f1")
	got, err := made(t, c, change, Write{})
	if err != nil || got.Spec.TiKV.Failover == nil || got.Spec.TiKV.Failover.RecoverByUID != "f1" {
		t.Errorf("%v", err)
	}
}

const manifest = `# a cluster
apiVersion: pingcap.com/v1alpha1
kind: TidbCluster
metadata:
  name: basic
  resourceVersion: "1"
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: "{}"
    mine: stays
spec:
  version: v8.1.0
  paused: off
  pd:
    replicas: 3
    baseImage: pingcap/pd
    requests: {storage: 1Gi}
    config:
      some-new-key: 1000000
status:
  clusterID: "1"
`

func TestApply(t *testing.T) {
	all, _, err := parse([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	m := all[0]
	if err := m.InNamespace("db", false); err != nil {
		t.Fatal(err)
	}
	var body, contentType, query string
	var reply any
	c := served(t, func(w http.ResponseWriter, r *http.Request) {
		raw := make([]byte, 1<<16)
		n, _ := r.Body.Read(raw)
		body, contentType, query = string(raw[:n]), r.Header.Get("Content-Type"), r.URL.Query().Encode()
		answer(w, reply)
	})
	reply = object(t, stored).Object
	if _, err := c.Apply(t.Context(), m, Write{}); err != nil {
		t.Fatal(err)
	}
	want := `{"apiVersion":"pingcap.com/v1alpha1","kind":"TidbCluster","metadata":{"annotations":{"mine":"stays"},"name":"basic","namespace":"db"},` +
		`"spec":{"paused":false,"pd":{"baseImage":"pingcap/pd","config":{"some-new-key":1000000},"replicas":3,"requests":{"storage":"1Gi"}},"version":"v8.1.0"}}`
	if strings.TrimSpace(body) != want {
		t.Errorf("sent %s", body)
	}
	asApplied := query
	if _, err := c.Apply(t.Context(), m, Write{Manager: "ci"}); err != nil || !strings.HasPrefix(query, "fieldManager=ci&") {
		t.Errorf("%v, sent as %s", err, query)
	}
	if _, err := c.Apply(t.Context(), m, Write{DryRun: true, Force: true}); err != nil || query != "dryRun=All&fieldManager=kubectl-tidb&fieldValidation=Strict&force=true" {
		t.Errorf("%v, sent as %s", err, query)
	}
	query = asApplied
	if contentType != string(types.ApplyPatchType) || query != "fieldManager=kubectl-tidb&fieldValidation=Strict&force=false" {
		t.Errorf("sent as %s, %s", contentType, query)
	}
}

func TestApplyConflict(t *testing.T) {
	all, _, err := parse([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	c := served(t, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, apierrors.NewApplyConflict([]metav1.StatusCause{{
			Type: "FieldManagerConflict", Field: ".spec.version",
			Message: `conflict with "kubectl-client-side-apply" using pingcap.com/v1alpha1`,
		}}, "Apply failed with 1 conflict"))
	})
	_, err = c.Apply(t.Context(), all[0], Write{})
	var clash *ConflictError
	if !errors.As(err, &clash) {
		t.Fatalf("got %v", err)
	}
	if want := []OwnedField{{"spec.version", "kubectl-client-side-apply"}}; !slices.Equal(clash.Fields, want) {
		t.Errorf("fields %v", clash.Fields)
	}
	if !strings.Contains(err.Error(), "spec.version, set by kubectl-client-side-apply") || !strings.Contains(err.Error(), "--force-conflicts") {
		t.Error(err)
	}
}
