package e2e

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/rbac"
)

// TestPermissions: the rights that are documented are enough to do everything,
// and a viewer can look at everything and change nothing.
func TestPermissions(t *testing.T) {
	t.Parallel()
	const small = "small"
	limited := newEnvironment(t, "e2e-limited").plugin
	for _, role := range []rbac.Role{rbac.Viewer, rbac.Driver, rbac.Editor} {
		grant(t, limited.Namespace, role)
	}
	as := func(t *testing.T, role rbac.Role, code int, args ...string) string {
		t.Helper()
		r := limited.Run(t.Context(), nil, append(args, "--as", user(limited.Namespace, role))...)
		t.Logf("%s: kubectl tidb %v: exit %d\n%s", role, args, r.Code, r.Stderr)
		if r.Code != code {
			t.Fatalf("%s: kubectl tidb %v: exit code %d, want %d\nstdout: %s", role, args, r.Code, code, r.Stdout)
		}
		if code == 0 && strings.Contains(r.Stderr, "forbidden") {
			t.Errorf("%s: kubectl tidb %v lacks a right", role, args)
		}
		return r.Stdout + r.Stderr
	}
	as(t, rbac.Viewer, 9, "create", small, "--version", from)
	as(t, rbac.Driver, 9, "create", small, "--version", from)
	as(t, rbac.Editor, 0, "create", small, "--version", from, "--storage", "1Gi", "--pd", "1", "--tikv", "3", "--tidb", "1")
	as(t, rbac.Viewer, 0, "status", small)
	as(t, rbac.Viewer, 0, "list")
	as(t, rbac.Viewer, 0, "failover", small)
	as(t, rbac.Viewer, 9, "scale", small, "tidb=2")
	as(t, rbac.Viewer, 9, "sync", small)
	as(t, rbac.Editor, 0, "scale", small, "tikv=4", "tidb=2")
	as(t, rbac.Editor, 0, "scale", small, "tikv=3", "tidb=1")
	as(t, rbac.Driver, 0, "sync", small)
	as(t, rbac.Editor, 0, "upgrade", small, to, "--yes")
	as(t, rbac.Viewer, 9, "delete", small, "--yes")
	as(t, rbac.Editor, 0, "delete", small, "--yes", "--delete-pvcs")
}

// user is the name by which a service account is known.
func user(namespace string, role rbac.Role) string {
	return "system:serviceaccount:" + namespace + ":" + string(role)
}

// grant gives a service account the rights of a role, in the namespace and
// everywhere, and no others.
func grant(t *testing.T, namespace string, role rbac.Role) {
	t.Helper()
	api, name := shared.Kube.RbacV1(), "kubectl-tidb-e2e-"+string(role)
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: string(role)}}
	ref := func(kind string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
	}
	_ = api.ClusterRoles().Delete(t.Context(), name, metav1.DeleteOptions{})
	_ = api.ClusterRoleBindings().Delete(t.Context(), name, metav1.DeleteOptions{})
	_ = api.Roles(namespace).Delete(t.Context(), name, metav1.DeleteOptions{})
	_ = api.RoleBindings(namespace).Delete(t.Context(), name, metav1.DeleteOptions{})
	meta := metav1.ObjectMeta{Name: name}
	for _, err := range []error{
		ignored(api.ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rbac.Rules(role, rbac.Everywhere)}, metav1.CreateOptions{})),
		ignored(api.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: ref("ClusterRole")}, metav1.CreateOptions{})),
		ignored(api.Roles(namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rbac.Rules(role, rbac.Namespace)}, metav1.CreateOptions{})),
		ignored(api.RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: ref("Role")}, metav1.CreateOptions{})),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func ignored[T any](_ T, err error) error { return err }
