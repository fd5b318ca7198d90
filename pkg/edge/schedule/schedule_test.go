package schedule

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
)

func object(version, kind, cluster string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(version)
	u.SetKind(kind)
	u.SetNamespace("db")
	u.SetName("basic-backup")
	u.SetUID("1")
	if cluster != "" {
		u.SetLabels(map[string]string{backup.LabelScheduled: cluster})
	}
	return u
}

// TestFind: an object of somebody else, or of another cluster, is not part of a schedule.
func TestFind(t *testing.T) {
	const access = "rbac.authorization.k8s.io/v1"
	all := []runtime.Object{
		object("batch/v1", "CronJob", "basic"), object(access, "RoleBinding", "basic"), object(access, "Role", "basic"), object("v1", "ServiceAccount", "basic"),
	}
	c := Client{Dynamic: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), all...), Namespace: "db"}
	found, err := c.Find(t.Context(), "basic", "basic-backup")
	if err != nil || len(found) != 4 || found[0].GetKind() != "CronJob" {
		t.Fatalf("%v: %v", err, found)
	}
	if none, err := c.Find(t.Context(), "basic", "basic-other"); err != nil || len(none) > 0 {
		t.Errorf("%v: %v", err, none)
	}
	if _, err := c.Find(t.Context(), "basic-2", "basic-backup"); err == nil || err.Error() != "cronjob basic-backup is there already, and is not part of a schedule of this cluster" {
		t.Error(err)
	}
	c.Dynamic = dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), object(access, "Role", ""))
	_, err = c.Find(t.Context(), "basic", "basic-backup")
	if other, ok := errors.AsType[*ForeignError](err); !ok || other.Kind != "Role" {
		t.Error(err)
	}
}

// TestDelete: an object that is gone is deleted.
func TestDelete(t *testing.T) {
	role := object("rbac.authorization.k8s.io/v1", "Role", "basic")
	c := Client{Dynamic: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), role), Namespace: "db"}
	for range 2 {
		if err := c.Delete(t.Context(), role); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.Dynamic.Resource(resourceOf("Role")).Namespace("db").Get(t.Context(), "basic-backup", metav1.GetOptions{}); err == nil {
		t.Error("the role is not deleted")
	}
}
