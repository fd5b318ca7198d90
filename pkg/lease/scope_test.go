package lease

import (
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// deployed is an operator's Deployment in namespace "ops".
func deployed(name string, args ...string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: name},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Command: append([]string{"/usr/local/bin/tidb-controller-manager"}, args...)}},
		}}},
	}
}

// account binds a service account of namespace "ops".
func account() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "ops", Name: "tidb-controller-manager"}}
}

func forbid(client *fake.Clientset, verb, resource string) {
	client.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", nil)
	})
}

const operatorPod = "tidb-controller-manager-5d8f7-x2x4z"

// An operator is taken for the driver of the clusters in its scope, and no others.
func TestScope(t *testing.T) {
	const name = "tidb-controller-manager"
	for title, tc := range map[string]struct {
		objects []runtime.Object
		hide    bool // Deployments may not be read
		labels  map[string]string
		drives  bool
		unread  bool
	}{
		"cluster-scoped by default":      {objects: []runtime.Object{deployed(name)}, drives: true},
		"cluster-scoped":                 {objects: []runtime.Object{deployed(name, "-cluster-scoped=true")}, drives: true},
		"of its own namespace":           {objects: []runtime.Object{deployed(name, "-cluster-scoped=false", "-v=2")}},
		"of its own namespace, --":       {objects: []runtime.Object{deployed(name, "--cluster-scoped=F")}},
		"selector does not match":        {objects: []runtime.Object{deployed(name, "-selector=team=a")}, labels: map[string]string{"team": "b"}},
		"selector of two words":          {objects: []runtime.Object{deployed(name, "-selector", "team=a")}, labels: map[string]string{"team": "b"}},
		"selector matches":               {objects: []runtime.Object{deployed(name, "-selector=team=a,env!=dev")}, labels: map[string]string{"team": "a"}, drives: true},
		"empty selector":                 {objects: []runtime.Object{deployed(name, "-selector=")}, drives: true},
		"Deployment of another name":     {objects: []runtime.Object{deployed("tidb-controller-manager-prod", "-cluster-scoped=false")}, drives: true, unread: true},
		"hidden, bound everywhere":       {hide: true, objects: []runtime.Object{&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "op"}, Subjects: account()}}, drives: true},
		"hidden, bound in its own":       {hide: true, objects: []runtime.Object{&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: "op"}, Subjects: account()}}},
		"hidden, bound in the cluster's": {hide: true, objects: []runtime.Object{&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "op"}, Subjects: account()}}, drives: true},
	} {
		t.Run(title, func(t *testing.T) {
			client := fake.NewClientset(tc.objects...)
			_ = client.Tracker().Add(operatorRecord("ops", name, operatorPod, time.Now()))
			if tc.hide {
				forbid(client, "get", "deployments")
			}
			target := Target{Namespace: "db", Labels: tc.labels}
			found := find(t, client, target)
			if _, drives := found.Driving(target); drives != tc.drives || found.Alive[0].Scope.Unread != tc.unread {
				t.Errorf("got %+v", found)
			}
		})
	}
}

// Where nothing may be read, the scope is taken for the widest, and said to be unread.
func TestUnreadScope(t *testing.T) {
	client := fake.NewClientset(operatorRecord("ops", "tidb-controller-manager", operatorPod, time.Now()))
	forbid(client, "get", "deployments")
	forbid(client, "list", "clusterrolebindings")
	o, drives := find(t, client, Target{Namespace: "db"}).Driving(Target{Namespace: "db"})
	if !drives || !o.Scope.Unread {
		t.Errorf("got %+v, %t", o, drives)
	}
}

// Nobody waits for a sign of life of an operator that would not drive the cluster.
func TestOutOfScopeIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(deployed("tidb-controller-manager", "-cluster-scoped=false"),
			operatorRecord("ops", "tidb-controller-manager", operatorPod, time.Now().Add(-time.Minute)))
		begun := time.Now()
		find(t, client, Target{Namespace: "db"})
		if took := time.Since(begun); took > 0 {
			t.Errorf("took %s", took)
		}
	})
}

// A second operator may drive the cluster where the first does not.
func TestOfTwoOperators(t *testing.T) {
	narrow := operatorRecord("ops", "tidb-controller-manager", operatorPod, time.Now())
	wide := operatorRecord("tidb-admin", "tidb-controller-manager", "op-2", time.Now())
	client := fake.NewClientset(narrow, wide, deployed("tidb-controller-manager", "-cluster-scoped=false"))
	target := Target{Namespace: "db"}
	found, err := NewOperators(client).Fresh(t.Context(), target)
	if o, drives := found.Driving(target); err != nil || !drives || o.Holder != "op-2" {
		t.Errorf("got %+v, %t", o, drives)
	}
}
