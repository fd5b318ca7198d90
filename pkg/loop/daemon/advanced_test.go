package daemon

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestReadsAdvanced: AdvancedStatefulSets are copied only where there are some that may be read.
func TestReadsAdvanced(t *testing.T) {
	for name, tt := range map[string]struct {
		served bool
		denied string // a verb
		want   bool
	}{
		"no such kind":         {},
		"may be read":          {served: true, want: true},
		"may not be listed":    {served: true, denied: "list"},
		"may not be watched":   {served: true, denied: "watch"},
		"no kind and no right": {denied: "list"},
	} {
		kube := fake.NewClientset()
		if tt.served {
			kube.Resources = []*metav1.APIResourceList{{GroupVersion: "apps.pingcap.com/v1"}}
		}
		kube.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
			review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
			about := review.Spec.ResourceAttributes
			review.Status.Allowed = about.Group == "apps.pingcap.com" && about.Resource == "statefulsets" && about.Namespace == "db" && about.Verb != tt.denied
			return true, review, nil
		})
		m := &mirror{kube: kube, scope: Scope{Namespace: "db"}}
		if got, err := m.readsAdvanced(t.Context()); err != nil || got != tt.want {
			t.Errorf("%s: %t, %v", name, got, err)
		}
	}
}
