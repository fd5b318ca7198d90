package lease

import (
	"slices"
	"strings"
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

// deployed returns an operator's Deployment in namespace "ops".
func deployed(name string, args ...string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: name},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Command: append([]string{"/usr/local/bin/tidb-controller-manager"}, args...)}},
		}}},
	}
}

// account returns a service account of namespace "ops" as the subjects of a binding.
func account() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "ops", Name: "tidb-controller-manager"}}
}

func forbid(client *fake.Clientset, verb, resource string) {
	client.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", nil)
	})
}

const operatorPod = "tidb-controller-manager-5d8f7-x2x4z"

// An operator drives the clusters in its scope, and no others.
func TestScope(t *testing.T) {
	const name = "tidb-controller-manager"
	for title, tc := range map[string]struct {
		objects []runtime.Object
		hide    bool // Deployments may not be read
		labels  map[string]string
		drives  bool
		unread  bool
	}{
		"cluster-scoped by default":       {objects: []runtime.Object{deployed(name)}, drives: true},
		"cluster-scoped":                  {objects: []runtime.Object{deployed(name, "-cluster-scoped=true")}, drives: true},
		"of its own namespace":            {objects: []runtime.Object{deployed(name, "-cluster-scoped=false", "-v=2")}},
		"of its own namespace, --":        {objects: []runtime.Object{deployed(name, "--cluster-scoped=F")}},
		"selector does not match":         {objects: []runtime.Object{deployed(name, "-selector=team=a")}, labels: map[string]string{"team": "b"}},
		"selector of two words":           {objects: []runtime.Object{deployed(name, "-selector", "team=a")}, labels: map[string]string{"team": "b"}},
		"selector matches":                {objects: []runtime.Object{deployed(name, "-selector=team=a,env!=dev")}, labels: map[string]string{"team": "a"}, drives: true},
		"empty selector":                  {objects: []runtime.Object{deployed(name, "-selector=")}, drives: true},
		"Deployment of another name":      {objects: []runtime.Object{deployed("tidb-controller-manager-prod", "-cluster-scoped=false")}, drives: true, unread: true},
		"unreadable bool":                 {objects: []runtime.Object{deployed(name, "-cluster-scoped=perhaps")}, drives: true},
		"unreadable selector":             {objects: []runtime.Object{deployed(name, "-selector=a b")}, drives: true},
		"no Deployment, bound in its own": {objects: []runtime.Object{&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: "op"}, Subjects: account()}}},
		"hidden, bound everywhere":        {hide: true, objects: []runtime.Object{&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "op"}, Subjects: account()}}, drives: true},
		"hidden, bound in its own":        {hide: true, objects: []runtime.Object{&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: "op"}, Subjects: account()}}},
		"hidden, bound in the cluster's":  {hide: true, objects: []runtime.Object{&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "op"}, Subjects: account()}}, drives: true},
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

// If the scope may not be read, it is all clusters, and Unread is set.
func TestUnreadScope(t *testing.T) {
	client := fake.NewClientset(operatorRecord("ops", "tidb-controller-manager", operatorPod, time.Now()))
	forbid(client, "get", "deployments")
	forbid(client, "list", "clusterrolebindings")
	o, drives := find(t, client, Target{Namespace: "db"}).Driving(Target{Namespace: "db"})
	if !drives || !o.Scope.Unread {
		t.Errorf("got %+v, %t", o, drives)
	}
}

// The scope is unknown if bindings may not be read, or if there are none.
func TestBoundNamespaces(t *testing.T) {
	bound := func(namespace string, s ...rbacv1.Subject) *rbacv1.RoleBinding {
		return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "op"}, Subjects: s}
	}
	everywhere := func(s ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
		return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "op"}, Subjects: s}
	}
	group := func(name string) rbacv1.Subject { return rbacv1.Subject{Kind: "Group", Name: name} }
	own := account()[0]
	for name, tc := range map[string]struct {
		objects []runtime.Object
		forbid  string
		bound   []string
		known   bool
	}{
		"none":                             {},
		"in two":                           {objects: []runtime.Object{bound("a", own), bound("b", own)}, bound: []string{"a", "b"}, known: true},
		"in all":                           {objects: []runtime.Object{bound("a", own), everywhere(own)}, known: true},
		"all service accounts":             {objects: []runtime.Object{bound("a", group("system:serviceaccounts"))}, bound: []string{"a"}, known: true},
		"those of the namespace":           {objects: []runtime.Object{everywhere(group("system:serviceaccounts:ops"))}, known: true},
		"those of another one":             {objects: []runtime.Object{everywhere(group("system:serviceaccounts:db"))}},
		"a user of that name":              {objects: []runtime.Object{everywhere(rbacv1.Subject{Kind: "User", Name: "system:serviceaccounts"})}},
		"another namespace's account":      {objects: []runtime.Object{bound("a", rbacv1.Subject{Kind: "ServiceAccount", Namespace: "db"})}},
		"a user with a namespace":          {objects: []runtime.Object{bound("a", rbacv1.Subject{Kind: "User", Namespace: "ops"})}},
		"those of all may not be listed":   {objects: []runtime.Object{bound("a", own)}, forbid: "clusterrolebindings"},
		"those of one may not be listed":   {objects: []runtime.Object{bound("a", own)}, forbid: "rolebindings"},
		"in all, others may not be listed": {objects: []runtime.Object{everywhere(own)}, forbid: "rolebindings", known: true},
	} {
		client := fake.NewClientset(tc.objects...)
		if tc.forbid != "" {
			forbid(client, "list", tc.forbid)
		}
		got, known := boundNamespaces(t.Context(), client, "ops")
		if known != tc.known || !slices.Equal(got, tc.bound) || known && len(tc.bound) == 0 && got != nil {
			t.Errorf("%s: %v, %t", name, got, known)
		}
	}
}

// The scope is that of the Deployment whose pod holds the lease, or else of the Deployment with the
// name of the lease.
func TestDeploymentOfHolder(t *testing.T) {
	const lease = "tidb-controller-manager"
	own, named := deployed("op-main", "-selector=own=1"), deployed(lease, "-selector=named=1")
	for name, tc := range map[string]struct {
		holder  string
		objects []runtime.Object
		want    string
	}{
		"both":             {"op-main-5d8f7-x2x4z_7e1f", []runtime.Object{own, named}, "own=1"},
		"only the pod's":   {"op-main-5d8f7-x2x4z", []runtime.Object{own}, "own=1"},
		"only the lease's": {"op-main-5d8f7-x2x4z_7e1f", []runtime.Object{named}, "named=1"},
		"a short name":     {"op-x2x4z_7e1f", []runtime.Object{deployed("op", "-selector=short=1")}, "short=1"},
		"one word":         {"op_7e1f", []runtime.Object{deployed("op", "-selector=short=1")}, "short=1"},
		"two words":        {"op-main_7e1f", []runtime.Object{own, deployed("op", "-selector=short=1")}, "short=1"},
	} {
		scope := scopeOf(t.Context(), fake.NewClientset(tc.objects...), "ops", lease, tc.holder)
		if scope.Selector == nil || scope.Selector.String() != tc.want {
			t.Errorf("%s: %+v", name, scope)
		}
	}
}

// The flags of a sidecar are not those of the operator.
func TestSidecar(t *testing.T) {
	d := deployed("tidb-controller-manager", "-selector=team=a", "-cluster-scoped=false")
	containers := &d.Spec.Template.Spec.Containers
	*containers = append(*containers, corev1.Container{Command: []string{"proxy"}, Args: []string{"-v", "2"}})
	if s := scopeIn(d); s.Selector == nil || s.Selector.String() != "team=a" || !slices.Equal(s.Namespaces, []string{"ops"}) {
		t.Errorf("got %+v", s)
	}
	slices.Reverse(*containers)
	if s := scopeIn(d); s.Selector == nil || s.Selector.String() != "team=a" || !slices.Equal(s.Namespaces, []string{"ops"}) {
		t.Errorf("last: %+v", s)
	}
	(*containers)[1] = corev1.Container{Command: []string{"op"}, Args: []string{"-selector=team=b"}}
	if s := scopeIn(d); s.Selector == nil || s.Selector.String() != "team=b" || s.Namespaces != nil {
		t.Errorf("by arguments: %+v", s)
	}
}

func TestFlagIn(t *testing.T) {
	for line, want := range map[string]string{
		"":                               "",
		"op":                             "",
		"op -selector=a":                 "a",
		"op --selector=a -v=2":           "a",
		"op -selector a":                 "a",
		"op -selector a -v 2":            "a",
		"op -selector a=b":               "a=b",
		"op -selector=a=b":               "a=b",
		"op -selector=a --selector=b":    "b",
		"op -selector -v=2":              "",
		"op -selector":                   "",
		"op -selector= a":                "",
		"op selector=a":                  "",
		"op selector a":                  "",
		"op -selectors=a":                "",
		"op -selectors a":                "",
		"op run -v 2 -selector a run":    "a",
		"op -selector=a -v 2 selector=b": "a",
	} {
		if got := flagIn(strings.Fields(line), "selector"); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// A search does not wait for the renewal of an operator that would not drive the cluster.
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
