package sets

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/test/memoryapi"
)

// live is an AdvancedStatefulSet with fields that no StatefulSet of Kubernetes has.
const live = `{"apiVersion":"apps.pingcap.com/v1","kind":"StatefulSet","metadata":{"namespace":"db","name":"basic-tikv",
"labels":{"app.kubernetes.io/instance":"basic"},"annotations":{"delete-slots":"[1]"}},
"spec":{"replicas":3,"serviceName":"basic-tikv-peer","ofALaterVersion":{"keep":"me"},"selector":{"matchLabels":{"a":"b"}},
"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":4}},
"template":{"metadata":{"labels":{"a":"b"},"creationTimestamp":null},"spec":{"containers":[{"name":"tikv","image":"tikv","ofALaterVersion":1}]}}},
"status":{"observedGeneration":1,"replicas":3,"updateRevision":"x"}}`

// served returns a client of an API server with AdvancedStatefulSets.
func served(t *testing.T) (*memoryapi.Server, kubernetes.Interface) {
	t.Helper()
	api := memoryapi.New()
	api.ServeAdvanced()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	const contentType = "application/vnd.kubernetes.protobuf" // as the plugin asks for
	kube, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{
		ContentType: contentType, AcceptContentTypes: contentType + ",application/json",
	}})
	if err != nil {
		t.Fatal(err)
	}
	return api, kube
}

func put(t *testing.T, api *memoryapi.Server, text string) {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	api.Put(Resource.GroupResource(), u)
}

// raw returns the JSON of an object in the API server.
func raw(t *testing.T, api *memoryapi.Server) string {
	t.Helper()
	text, err := json.Marshal(api.Get(Resource.GroupResource(), "db", "basic-tikv"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestServed(t *testing.T) {
	_, kube := served(t)
	if is, err := Served(kube); !is || err != nil {
		t.Errorf("%t, %v", is, err)
	}
	server := httptest.NewServer(memoryapi.New())
	kube, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if is, err := Served(kube); is || err != nil {
		t.Errorf("without such a kind: %t, %v", is, err)
	}
	server.Close()
	if is, err := Served(kube); is || err == nil {
		t.Errorf("without an answer: %t, %v", is, err)
	}
}

// TestKinds: each kind is read and written in its own API group.
func TestKinds(t *testing.T) {
	api, kube := served(t)
	put(t, api, live)
	plain := Of(kube, "db", false)
	if _, err := plain.Get(t.Context(), "basic-tikv", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("found as one of Kubernetes: %v", err)
	}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "basic-pd"}}
	if _, err := plain.Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	list, err := Of(kube, "db", true).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=basic"})
	if err != nil || len(list.Items) != 1 || !state.IsAdvanced(list.Items[0].APIVersion) {
		t.Errorf("%v, %+v", err, list)
	}
	if all, err := Of(kube, "", true).List(t.Context(), metav1.ListOptions{}); err != nil || len(all.Items) != 1 {
		t.Errorf("in all namespaces: %v, %+v", err, all)
	}
	if none, err := Of(kube, "other", true).List(t.Context(), metav1.ListOptions{}); err != nil || len(none.Items) > 0 {
		t.Errorf("in another namespace: %v, %+v", err, none)
	}
}

// TestUpdate: an update writes what has changed, and keeps fields that are not known here. The pod template stays as
// it was written, so that no pod gets another revision.
func TestUpdate(t *testing.T) {
	api, kube := served(t)
	put(t, api, live)
	client := Of(kube, "db", true)
	set, err := client.Get(t.Context(), "basic-tikv", metav1.GetOptions{})
	if err != nil || set.Status.UpdateRevision != "x" || set.Generation != 1 {
		t.Fatalf("%v, %+v", err, set)
	}
	if o := state.OrdinalsOf(set); o.Count != 3 || len(o.Slots) != 1 || o.Slots[0] != 1 {
		t.Errorf("ordinals %+v", o)
	}
	stale := set.DeepCopy()
	set.Spec.Replicas = new(int32(2))
	set.Annotations["delete-slots"] = "[1,2]"
	got, err := client.Update(t.Context(), set, metav1.UpdateOptions{FieldManager: "kubectl-tidb"})
	if err != nil || *got.Spec.Replicas != 2 || got.Generation != 2 || got.ResourceVersion == set.ResourceVersion {
		t.Fatalf("%v, %+v", err, got)
	}
	text := raw(t, api)
	for _, kept := range []string{`"ofALaterVersion":{"keep":"me"}`, `"image":"tikv","name":"tikv","ofALaterVersion":1`, `"delete-slots":"[1,2]"`, `"replicas":2`, `"creationTimestamp":null`, `"updateRevision":"x"`} {
		if !strings.Contains(text, kept) {
			t.Errorf("%s is missing in %s", kept, text)
		}
	}
	for _, added := range []string{"minReadySeconds", "availableReplicas", "dnsPolicy"} {
		if strings.Contains(text, added) {
			t.Errorf("%s was added: %s", added, text)
		}
	}
	if _, err := client.Update(t.Context(), stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("an older version: %v", err)
	}
	if _, err := client.Update(t.Context(), &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "none"}}, metav1.UpdateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("one that does not exist: %v", err)
	}
}

func TestCreate(t *testing.T) {
	api, kube := served(t)
	client := Of(kube, "db", true)
	set := &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{Name: "basic-tikv", Namespace: "db"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(3)), MinReadySeconds: 5, Ordinals: &appsv1.StatefulSetOrdinals{},
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{},
			Template:                             corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "tikv"}}}},
		},
	}
	got, err := client.Create(t.Context(), set, metav1.CreateOptions{FieldManager: "kubectl-tidb"})
	if err != nil || got.UID == "" || !state.IsAdvanced(got.APIVersion) {
		t.Fatalf("%v, %+v", err, got)
	}
	text := raw(t, api)
	for _, field := range append(absent, "status") {
		if strings.Contains(text, field) {
			t.Errorf("%s is in %s", field, text)
		}
	}
	if set.APIVersion != "apps/v1" || set.Spec.MinReadySeconds != 5 {
		t.Error("the argument has changed")
	}
	if _, err := client.Create(t.Context(), set, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("twice: %v", err)
	}
}

func TestDelete(t *testing.T) {
	api, kube := served(t)
	put(t, api, live)
	client := Of(kube, "db", true)
	err := client.Delete(t.Context(), "basic-tikv", metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("other")})
	if !apierrors.IsConflict(err) {
		t.Errorf("with another UID: %v", err)
	}
	set, err := client.Get(t.Context(), "basic-tikv", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	err = client.Delete(t.Context(), "basic-tikv", metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(set.UID))})
	if err != nil || api.Get(Resource.GroupResource(), "db", "basic-tikv") != nil {
		t.Errorf("%v", err)
	}
	if _, err := client.Get(t.Context(), "basic-tikv", metav1.GetOptions{}); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "basic-tikv") {
		t.Errorf("after that: %v", err)
	}
}

func TestWatch(t *testing.T) {
	api, kube := served(t)
	w, err := Of(kube, "db", true).Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"})
	if err != nil {
		t.Fatal(err)
	}
	put(t, api, live)
	put(t, api, strings.Replace(live, `"replicas":3,"serviceName"`, `"replicas":4,"serviceName"`, 1))
	api.Remove(Resource.GroupResource(), "db", "basic-tikv")
	for _, want := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
		e := <-w.ResultChan()
		set, is := e.Object.(*appsv1.StatefulSet)
		if e.Type != want || !is || set.Name != "basic-tikv" || !state.IsAdvanced(set.APIVersion) {
			t.Fatalf("%s %+v, want %s", e.Type, e.Object, want)
		}
	}
	w.Stop()
	for e := range w.ResultChan() {
		// The stream that Stop closes may be reported as an error once, before the channel closes.
		if e.Type != watch.Error {
			t.Errorf("after the end of the watch: %s %+v", e.Type, e.Object)
		}
	}
}

// TestWatchError: what the API server says at the end of a watch is no object.
func TestWatchError(t *testing.T) {
	d := &decoder{Decoder: json.NewDecoder(strings.NewReader(`{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}`))}
	how, obj, err := d.Decode()
	if status, is := obj.(*metav1.Status); err != nil || how != watch.Error || !is || status.Code != 410 {
		t.Errorf("%s, %+v, %v", how, obj, err)
	}
}
