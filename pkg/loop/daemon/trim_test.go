package daemon

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A daemon has to know who has changed a pod template, or it would write against a webhook without an end.
func TestKeepsWritersOfTemplates(t *testing.T) {
	entry := func(manager, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "basic-tikv", Namespace: "db"}}
	set.ManagedFields = []metav1.ManagedFieldsEntry{
		entry("kubectl-set", "", `{"f:spec":{"f:template":{}}}`), entry("kubectl-annotate", "", `{"f:metadata":{}}`),
		entry("kube-controller-manager", "status", `{"f:spec":{"f:template":{}}}`), {Manager: "old"},
	}
	got, err := decode(&appsv1.StatefulSet{}, keep(t, set).(*packed))
	if err != nil {
		t.Fatal(err)
	}
	if kept := got.(*appsv1.StatefulSet).ManagedFields; len(kept) != 1 || kept[0].Manager != "kubectl-set" || kept[0].FieldsV1 == nil {
		t.Errorf("%+v", kept)
	}
}
