package backup

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

func object(namespace, name string, spec any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "pingcap.com/v1alpha1", "kind": "Backup",
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec":     spec,
		"status": map[string]any{
			"timeStarted": "2026-03-10T02:00:00Z", "timeCompleted": nil, "commitTs": "464000000000000000",
			"conditions": []any{map[string]any{"type": "Complete", "status": "True", "lastTransitionTime": nil}},
		},
	}}
}

func served(objects ...runtime.Object) *fake.FakeDynamicClient {
	return fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{Resource: "BackupList"}, objects...)
}

// refuse has lists fail: of all namespaces, or of every one.
func refuse(dyn *fake.FakeDynamicClient, every bool, err error) {
	dyn.PrependReactor("list", "backups", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if every || a.GetNamespace() == metav1.NamespaceAll {
			return true, nil, err
		}
		return false, nil, nil
	})
}

var forbidden = apierrors.NewForbidden(schema.GroupResource{Group: "pingcap.com", Resource: "backups"}, "", errors.New("no"))

// TestList: Backups of all namespaces are read where that is permitted, else those of one.
func TestList(t *testing.T) {
	br := map[string]any{"backupMode": "snapshot", "br": map[string]any{"cluster": "basic"}}
	objects := []runtime.Object{object("db", "a", br), object("backups", "b", br), object("db", "bad", map[string]any{"br": "?"})}
	got, err := List(t.Context(), served(objects...), "db")
	if err != nil || !got.Everywhere || len(got.Items) != 2 || len(got.Unread) != 1 || !strings.HasPrefix(got.Unread[0], "db/bad cannot be read: ") {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, b := range got.Items {
		if b.Spec.BR.Cluster != "basic" || b.Status.TimeStarted.IsZero() || !b.Status.TimeCompleted.IsZero() || b.Status.CommitTs == "" || len(b.Status.Conditions) != 1 {
			t.Errorf("%+v", b)
		}
	}
	dyn := served(objects...)
	refuse(dyn, false, forbidden)
	if got, err := List(t.Context(), dyn, "db"); err != nil || got.Everywhere || len(got.Items) != 1 || got.Items[0].Name != "a" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestListFails: what cannot be read is no empty list.
func TestListFails(t *testing.T) {
	for name, tt := range map[string]struct {
		err   error
		check func(error) bool
	}{
		"no right":      {forbidden, apierrors.IsForbidden},
		"no definition": {apierrors.NewNotFound(schema.GroupResource{}, ""), func(err error) bool { _, is := errors.AsType[*NoResourceError](err); return is }},
		"broken":        {apierrors.NewInternalError(errors.New("broken")), apierrors.IsInternalError},
	} {
		dyn := served()
		refuse(dyn, true, tt.err)
		if got, err := List(t.Context(), dyn, "db"); !tt.check(err) || len(got.Items) > 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestPages: a list may have more Backups than are sent at a time.
func TestPages(t *testing.T) {
	dyn := served()
	pages := 0
	dyn.PrependReactor("list", "backups", func(clienttesting.Action) (bool, runtime.Object, error) {
		list := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{*object("db", string(rune('a'+pages)), map[string]any{})}}
		list.SetAPIVersion("pingcap.com/v1alpha1")
		list.SetKind("BackupList")
		if pages++; pages < 3 {
			list.SetContinue("more")
		}
		return true, list, nil
	})
	if got, err := List(t.Context(), dyn, "db"); err != nil || len(got.Items) != 3 || got.Items[2].Name != "c" {
		t.Errorf("%+v, %v", got, err)
	}
}
