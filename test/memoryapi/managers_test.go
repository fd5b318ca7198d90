package memoryapi_test

import (
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-tidb/kubectl-tidb/test/memoryapi"
)

// recording returns a client of a server that records managers, and the server.
func recording(t *testing.T) (kubernetes.Interface, *memoryapi.Server) {
	t.Helper()
	api := memoryapi.New()
	api.RecordManagers()
	kube, err := kubernetes.NewForConfigAndClient(&rest.Config{Host: "http://memory", QPS: -1}, &http.Client{Transport: memoryapi.Transport{Handler: api}})
	if err != nil {
		t.Fatal(err)
	}
	return kube, api
}

// TestApply: an applied manifest sets its fields and removes those that it had before, and another manager's field is a
// conflict.
func TestApply(t *testing.T) {
	kube, _ := recording(t)
	maps := kube.CoreV1().ConfigMaps("ns")
	apply := func(data, manager string, force bool) (*corev1.ConfigMap, error) {
		body := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":` + data + `}`
		return maps.Patch(t.Context(), "a", types.ApplyPatchType, []byte(body), metav1.PatchOptions{FieldManager: manager, Force: &force})
	}
	if got, err := apply(`{"x":"1","y":"1"}`, "one", false); err != nil || got.Data["y"] != "1" {
		t.Fatalf("%v, %v", got, err)
	}
	if got, err := apply(`{"x":"2"}`, "one", false); err != nil || len(got.Data) != 1 || got.Data["x"] != "2" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := apply(`{"x":"3"}`, "two", false); !apierrors.IsConflict(err) {
		t.Errorf("%v", err)
	}
	got, err := apply(`{"x":"3"}`, "two", true)
	if err != nil || got.Data["x"] != "3" || len(got.ManagedFields) != 1 || got.ManagedFields[0].Manager != "two" {
		t.Errorf("%v, %v", got, err)
	}
	got.Data["z"] = "1"
	got, err = maps.Update(t.Context(), got, metav1.UpdateOptions{FieldManager: "three"})
	if err != nil || len(got.ManagedFields) != 2 {
		t.Errorf("%+v, %v", got.ManagedFields, err)
	}
}

// TestDeletionWaits: a pod with a node stays until its kubelet has ended it, and an object until its last finalizer is
// taken off.
func TestDeletionWaits(t *testing.T) {
	kube, api := recording(t)
	pods, claims := kube.CoreV1().Pods("ns"), kube.CoreV1().PersistentVolumeClaims("ns")
	for _, node := range []string{"", "a"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p" + node}, Spec: corev1.PodSpec{NodeName: node}}
		if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := pods.Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		got, err := pods.Get(t.Context(), pod.Name, metav1.GetOptions{})
		if gone := apierrors.IsNotFound(err); gone != (node == "") || !gone && *got.DeletionGracePeriodSeconds != 30 {
			t.Errorf("%q: %v, %v", node, got, err)
		}
	}
	if !api.Remove(schema.GroupResource{Resource: "pods"}, "ns", "pa") {
		t.Error("there is no pod")
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", Finalizers: []string{"x/y"}}}
	if _, err := claims.Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := claims.Delete(t.Context(), "c", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, err := claims.Get(t.Context(), "c", metav1.GetOptions{}); err != nil || got.DeletionTimestamp == nil {
		t.Fatalf("%v, %v", got, err)
	}
	_, err := claims.Patch(t.Context(), "c", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if _, missing := claims.Get(t.Context(), "c", metav1.GetOptions{}); err != nil || !apierrors.IsNotFound(missing) {
		t.Errorf("%v, %v", err, missing)
	}
}

// TestAnotherUID: a write that names another UID than that of the object is refused.
func TestAnotherUID(t *testing.T) {
	m := maps(t, "")
	_, err := m.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"uid":"x"}}`), metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) {
		t.Errorf("%v", err)
	}
}

// TestWatchSinceDeletion: a watch from a version on shows what was deleted after it.
func TestWatchSinceDeletion(t *testing.T) {
	m := maps(t, "")
	list, err := m.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w, err := m.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if e := <-w.ResultChan(); e.Type != "DELETED" || e.Object.(*corev1.ConfigMap).Name != "b" {
		t.Errorf("%+v", e)
	}
}
