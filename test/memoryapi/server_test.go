package memoryapi_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-tidb/kubectl-tidb/test/memoryapi"
)

// maps returns a client of a new server's ConfigMaps, of which there are two, in JSON or in protobuf.
func maps(t *testing.T, contentType string) corev1client.ConfigMapInterface {
	t.Helper()
	kube, err := kubernetes.NewForConfigAndClient(
		&rest.Config{Host: "http://memory", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: contentType}},
		&http.Client{Transport: memoryapi.Transport{Handler: memoryapi.New()}})
	if err != nil {
		t.Fatal(err)
	}
	maps := kube.CoreV1().ConfigMaps("ns")
	for _, name := range []string{"a", "b"} {
		if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return maps
}

// TestDeletePreconditions: an object that is not the one that is meant stays.
func TestDeletePreconditions(t *testing.T) {
	for _, contentType := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		m := maps(t, contentType)
		a, err := m.Get(t.Context(), "a", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, only := range []metav1.Preconditions{{UID: new(types.UID("other"))}, {ResourceVersion: new("0")}} {
			if err := m.Delete(t.Context(), "a", metav1.DeleteOptions{Preconditions: &only}); !apierrors.IsConflict(err) {
				t.Errorf("%s: %v", contentType, err)
			}
		}
		only := metav1.Preconditions{UID: &a.UID, ResourceVersion: &a.ResourceVersion}
		if err := m.Delete(t.Context(), "a", metav1.DeleteOptions{Preconditions: &only}); err != nil {
			t.Errorf("%s: %v", contentType, err)
		}
		if err := m.Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
			t.Errorf("%s: %v", contentType, err)
		}
	}
}

// TestDeleteWithoutKind: kubectl sends options without a kind.
func TestDeleteWithoutKind(t *testing.T) {
	m := memoryapi.New()
	m.Put(schema.GroupResource{Resource: "pods"}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}})
	client := &http.Client{Transport: memoryapi.Transport{Handler: m}}
	for _, c := range []struct {
		body string
		want int
	}{
		{`{"propagationPolicy":"Background","preconditions":{"uid":"other"}}`, http.StatusConflict},
		{`{"propagationPolicy":"Background"}`, http.StatusOK},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, "http://memory/api/v1/namespaces/ns/pods/a", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%s: status %d, want %d", c.body, answer.StatusCode, c.want)
		}
	}
}

// TestSelectors: what the server cannot select by is refused, and never ignored.
func TestSelectors(t *testing.T) {
	m := maps(t, "")
	for selector, want := range map[string]int{"": 2, "metadata.name=b": 1, "metadata.name!=b": 1, "metadata.namespace=other": 0, "metadata.namespace!=other": 2} {
		if got, err := m.List(t.Context(), metav1.ListOptions{FieldSelector: selector}); err != nil || len(got.Items) != want {
			t.Errorf("%q: %d, %v", selector, len(got.Items), err)
		}
	}
	if _, err := m.List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=b"}); !apierrors.IsBadRequest(err) {
		t.Errorf("%v", err)
	}
}

// TestPatchTypes: a patch of a type that the server does not know changes nothing.
func TestPatchTypes(t *testing.T) {
	m := maps(t, "")
	if _, err := m.Patch(t.Context(), "a", "text/plain", []byte("[]"), metav1.PatchOptions{}); !apierrors.IsUnsupportedMediaType(err) {
		t.Errorf("%v", err)
	}
	got, err := m.Patch(t.Context(), "a", types.JSONPatchType, []byte(`[{"op":"add","path":"/data","value":{"k":"v"}}]`), metav1.PatchOptions{})
	if err != nil || got.Data["k"] != "v" {
		t.Errorf("%v, %v", got, err)
	}
	for _, kind := range []types.PatchType{types.MergePatchType, types.StrategicMergePatchType} {
		got, err := m.Patch(t.Context(), "a", kind, []byte(`{"data":{"k":"`+string(kind)+`"}}`), metav1.PatchOptions{})
		if err != nil || got.Data["k"] != string(kind) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestDryRun: a dry run answers as the request itself would, and nothing is changed by it.
func TestDryRun(t *testing.T) {
	m, dry := maps(t, ""), []string{metav1.DryRunAll}
	before, err := m.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made, err := m.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, metav1.CreateOptions{DryRun: dry})
	if err != nil || made.UID == "" {
		t.Errorf("create: %v, %v", made, err)
	}
	if _, err := m.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{DryRun: dry}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("one that there is: %v", err)
	}
	a := before.Items[0].DeepCopy()
	a.Data = map[string]string{"x": "y"}
	if got, err := m.Update(t.Context(), a, metav1.UpdateOptions{DryRun: dry}); err != nil || got.Data["x"] != "y" {
		t.Errorf("update: %v, %v", got, err)
	}
	if err := m.Delete(t.Context(), "a", metav1.DeleteOptions{DryRun: dry}); err != nil {
		t.Errorf("delete: %v", err)
	}
	after, err := m.List(t.Context(), metav1.ListOptions{})
	if err != nil || !reflect.DeepEqual(before.Items, after.Items) {
		t.Errorf("changed: %v, %v", after, err)
	}
}
