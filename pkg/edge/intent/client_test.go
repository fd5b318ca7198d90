package intent

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"
)

const stored = `
apiVersion: pingcap.com/v1alpha1
kind: TidbCluster
metadata: {namespace: db, name: basic, uid: tc-uid, resourceVersion: "5"}
spec:
  version: v8.1.0
  fieldOfALaterVersion: {keep: me}
  pd: {baseImage: pingcap/pd, replicas: 3, requests: {storage: 1Gi}, config: {log: {level: info}}}
  tikv: {baseImage: pingcap/tikv, replicas: 3, config: "[raftstore]\nsync-log = true\n"}
  tidb: {baseImage: pingcap/tidb, replicas: 2, version: v8.0.0, service: {type: NodePort}}
`

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func named(t *testing.T, namespace, name string) *unstructured.Unstructured {
	u := object(t, stored)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// client returns a client of a fake API server that checks versions in merge patches.
func client(t *testing.T, objects ...runtime.Object) (*Client, *fake.FakeDynamicClient) {
	t.Helper()
	dyn := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{Resource: "TidbClusterList"}, objects...)
	dyn.PrependReactor("patch", "tidbclusters", func(a clienttesting.Action) (bool, runtime.Object, error) {
		p := a.(clienttesting.PatchAction)
		var body struct{ Metadata metav1.ObjectMeta }
		if err := json.Unmarshal(p.GetPatch(), &body); err != nil {
			return true, nil, err
		}
		live, err := dyn.Tracker().Get(Resource, a.GetNamespace(), p.GetName())
		if err != nil {
			return true, nil, err
		}
		if rv := body.Metadata.ResourceVersion; rv != "" && rv != live.(*unstructured.Unstructured).GetResourceVersion() {
			return true, nil, apierrors.NewConflict(Resource.GroupResource(), p.GetName(), errors.New("modified"))
		}
		return false, nil, nil
	})
	return New(dyn), dyn
}

// served returns a client of an API server whose answers come from the function.
func served(t *testing.T, handle http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	dyn, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return New(dyn)
}

// answer writes an object, or a Status with its code.
func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	var failed *apierrors.StatusError
	if err, ok := v.(error); ok && errors.As(err, &failed) {
		status := failed.Status()
		status.APIVersion, status.Kind = "v1", "Status"
		w.WriteHeader(int(status.Code))
		v = status
	}
	_ = json.NewEncoder(w).Encode(v)
}

func TestLoad(t *testing.T) {
	c, _ := client(t, object(t, stored))
	tc, err := c.Load(t.Context(), "db", "basic")
	if err != nil {
		t.Fatal(err)
	}
	if tc.UID != "tc-uid" || tc.Spec.TiKV.Replicas != 3 || tc.Spec.PD.Config.Get("log.level").MustString() != "info" {
		t.Errorf("loaded %+v", tc.Spec)
	}
	if tc.Spec.TiKV.Config.Get("raftstore.sync-log") == nil {
		t.Error("configuration as text was not read")
	}
}

func TestLoadUndecodable(t *testing.T) {
	u := object(t, stored)
	_ = unstructured.SetNestedField(u.Object, "three", "spec", "tikv", "replicas")
	c, dyn := client(t, u)
	_ = dyn.Tracker().Add(named(t, "db", "other"))
	if _, err := c.Load(t.Context(), "db", "basic"); err == nil || !strings.Contains(err.Error(), `tidbcluster db/basic cannot be read: spec.tikv.replicas is the text "three", must be a whole number`) {
		t.Errorf("got %v", err)
	}
	list, err := c.List(t.Context(), "db", "")
	if len(list) != 2 || list[0].Name != "basic" || list[1].Name != "other" || err == nil {
		t.Errorf("a TidbCluster that cannot be decoded, or one beside it, is not in the list: %v, %v", list, err)
	}
}

func TestLoadNotFound(t *testing.T) {
	c, dyn := client(t, named(t, "db", "basic"), named(t, "db", "basis"), named(t, "db", "analytics"), named(t, "prod", "basik"))
	_, err := c.Load(t.Context(), "db", "basik")
	var missing *NotFoundError
	if !errors.As(err, &missing) {
		t.Fatalf("got %v", err)
	}
	if !slices.Equal(missing.Similar, []string{"basic", "basis"}) || !slices.Equal(missing.Elsewhere, []string{"prod"}) {
		t.Errorf("similar %q, elsewhere %q", missing.Similar, missing.Elsewhere)
	}
	want := `there is no TidbCluster "basik" in namespace "db", but there is one in namespace prod: did you mean basic or basis?`
	if err.Error() != want || !missing.Final() || !apierrors.IsNotFound(err) {
		t.Error(err)
	}
	dyn.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(Resource.GroupResource(), "", nil)
	})
	_, err = c.Load(t.Context(), "db", "basik")
	if !errors.As(err, &missing) || len(missing.Similar)+len(missing.Elsewhere) > 0 {
		t.Errorf("got %v", err)
	}
}

func TestNoResource(t *testing.T) {
	c := served(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "404 page not found", http.StatusNotFound)
	})
	var none *NoResourceError
	if _, err := c.Load(t.Context(), "db", "basic"); !errors.As(err, &none) || !strings.Contains(err.Error(), "kubectl tidb init") {
		t.Errorf("load: %v", err)
	}
	if _, err := c.List(t.Context(), "", ""); !errors.As(err, &none) {
		t.Errorf("list: %v", err)
	}
	tc := &v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"}}
	if _, err := c.Create(t.Context(), tc, Write{}); !errors.As(err, &none) {
		t.Errorf("create: %v", err)
	}
}

func TestCreateInNoNamespace(t *testing.T) {
	c := served(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			answer(w, &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": apiVersion, "kind": "TidbClusterList"}})
			return
		}
		answer(w, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "db"))
	})
	tc := &v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"}}
	_, err := c.Create(t.Context(), tc, Write{})
	if err == nil || !strings.Contains(err.Error(), `namespaces "db" not found`) {
		t.Errorf("got %v", err)
	}
}

// TestExpect: with the UID of a cluster, no other one is read, and none is made.
func TestExpect(t *testing.T) {
	c, dyn := client(t, named(t, "ns", "basic"))
	for uid, says := range map[types.UID]string{"": "", "tc-uid": "", "2": "has the UID tc-uid, not 2"} {
		_, err := c.Expect(uid).Load(t.Context(), "ns", "basic")
		if (says == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", uid, err)
		}
	}
	tc := &v1alpha1.TidbCluster{}
	tc.Namespace, tc.Name = "ns", "other"
	if _, err := c.Expect("2").Create(t.Context(), tc, Write{}); !errors.As(err, new(*OtherError)) {
		t.Error(err)
	}
	for _, a := range dyn.Actions() {
		if a.GetVerb() == "create" {
			t.Error(a)
		}
	}
}

func TestCreate(t *testing.T) {
	var sent map[string]any
	var query string
	c := served(t, func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.Query().Encode()
		_ = json.NewDecoder(r.Body).Decode(&sent)
		answer(w, sent)
	})
	tc := &v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"}}
	tc.Spec.PD = &v1alpha1.PDSpec{Replicas: 3}
	got, err := c.Create(t.Context(), tc, Write{DryRun: true})
	if err != nil || got.Spec.PD.Replicas != 3 {
		t.Fatalf("%v, %v", got, err)
	}
	if query != "dryRun=All&fieldManager=kubectl-tidb&fieldValidation=Strict" {
		t.Error(query)
	}
	if _, status := sent["status"]; status || sent["kind"] != "TidbCluster" {
		t.Errorf("sent %v", sent)
	}
	if _, given := sent["metadata"].(map[string]any)["creationTimestamp"]; given {
		t.Errorf("sent %v", sent["metadata"])
	}
}

func TestDelete(t *testing.T) {
	var sent metav1.DeleteOptions
	var reply any = map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Success"}
	c := served(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &sent)
		answer(w, reply)
	})
	tc := &v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic", UID: "tc-uid"}}
	if err := c.Delete(t.Context(), tc, Write{DryRun: true}); err != nil {
		t.Fatal(err)
	}
	if *sent.Preconditions.UID != "tc-uid" || !slices.Equal(sent.DryRun, []string{"All"}) {
		t.Errorf("sent %+v", sent)
	}
	reply = apierrors.NewConflict(Resource.GroupResource(), "basic", errors.New("UID"))
	var changed *ChangedError
	if err := c.Delete(t.Context(), tc, Write{}); !errors.As(err, &changed) {
		t.Errorf("got %v", err)
	}
}

// TestInformer: the informer keeps typed objects, and one that cannot be decoded does not affect
// the others.
func TestInformer(t *testing.T) {
	broken := named(t, "db", "broken")
	_ = unstructured.SetNestedField(broken.Object, "three", "spec", "pd", "replicas")
	c, _ := client(t, object(t, stored), broken)
	informer, err := c.Informer("db", nil)
	if err != nil {
		t.Fatal(err)
	}
	go informer.RunWithContext(t.Context())
	if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatal("it does not get its first copy")
	}
	obj, ok, _ := informer.GetStore().GetByKey("db/basic")
	if tc, typed := obj.(*v1alpha1.TidbCluster); !ok || !typed || tc.Spec.PD.Replicas != 3 {
		t.Errorf("basic is a %T", obj)
	}
	obj, ok, _ = informer.GetStore().GetByKey("db/broken")
	if u, typed := obj.(*Undecodable); !ok || !typed || !strings.Contains(u.Err.Error(), "db/broken") || u.UID != "tc-uid" {
		t.Errorf("broken is a %T", obj)
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"basic", "basic", 0}, {"basik", "basic", 1}, {"bsaic", "basic", 2}, {"", "abc", 3}, {"kitten", "sitting", 3}} {
		if got := distance(tt.a, tt.b); got != tt.want || distance(tt.b, tt.a) != got {
			t.Errorf("%q to %q: %d", tt.a, tt.b, got)
		}
	}
	if got := Similar("prod", []string{"prod-eu", "test", "prog", "production"}); !slices.Equal(got, []string{"prog", "prod-eu", "production"}) {
		t.Errorf("%q", got)
	}
}

// TestListSelector: only the TidbClusters with the labels are listed.
func TestListSelector(t *testing.T) {
	labelled := named(t, "db", "labelled")
	labelled.SetLabels(map[string]string{"env": "test"})
	c, _ := client(t, object(t, stored), labelled)
	all, err := c.List(t.Context(), "db", "env=test")
	if err != nil || len(all) != 1 || all[0].Name != "labelled" {
		t.Errorf("%d, %v", len(all), err)
	}
}
