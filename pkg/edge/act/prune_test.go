package act_test

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/act"
)

// TestPruneClaim: a claim is deleted by its UID and its version, and never another one.
func TestPruneClaim(t *testing.T) {
	resource := schema.GroupResource{Resource: "persistentvolumeclaims"}
	for name, answer := range map[string]error{
		"deleted": nil, "gone": apierrors.NewNotFound(resource, "c"), "changed": apierrors.NewConflict(resource, "c", errors.New("changed")),
		"forbidden": apierrors.NewForbidden(resource, "c", errors.New("no")),
	} {
		kube, asked := fake.NewClientset(), 0
		kube.PrependReactor("delete", "persistentvolumeclaims", func(a ktesting.Action) (bool, runtime.Object, error) {
			asked++
			on := a.(ktesting.DeleteAction).GetDeleteOptions().Preconditions
			if a.GetNamespace() != "ns" || on == nil || on.UID == nil || *on.UID != "u" || on.ResourceVersion == nil || *on.ResourceVersion != "7" {
				t.Errorf("%s: %+v", name, on)
			}
			return true, nil, answer
		})
		err := act.PruneClaim(t.Context(), kube, "ns", step.Claim{Name: "c", UID: "u"}, "7")
		_, changed := errors.AsType[*act.Stale](err)
		if asked != 1 || changed != (name == "changed") || (err != nil) != (name == "changed" || name == "forbidden") {
			t.Errorf("%s: %v after %d requests", name, err, asked)
		}
	}
}
