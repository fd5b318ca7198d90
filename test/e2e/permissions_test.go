package e2e

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/rbac"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/plugin"
)

// TestPermissions: the rights that "auth role" prints for a verb are enough for it, also those of
// the namespace alone, and verbs that only read can change nothing.
func TestPermissions(t *testing.T) {
	t.Parallel()
	const small = "small"
	limited := newEnvironment(t, "e2e-limited").plugin
	for _, c := range rbac.Commands() {
		if c.Role != rbac.Installer {
			grant(t, limited, c.Name, "")
		}
	}
	grant(t, limited, "sync", "--namespaced")
	as := func(t *testing.T, user string, code int, args ...string) string {
		t.Helper()
		r := limited.Run(t.Context(), nil, append(args, "--as", "system:serviceaccount:"+limited.Namespace+":"+user)...)
		t.Logf("%s: kubectl tidb %v: exit %d\n%s", user, args, r.Code, r.Stderr)
		if r.Code != code {
			t.Fatalf("%s: kubectl tidb %v: exit code %d, want %d\nstdout: %s", user, args, r.Code, code, r.Stdout)
		}
		if code == 0 && strings.Contains(r.Stderr, "forbidden") {
			t.Errorf("%s: kubectl tidb %v lacks a right", user, args)
		}
		return r.Stdout + r.Stderr
	}
	for _, user := range []string{"status", "sync", "scale", "delete"} {
		as(t, user, 9, "create", small, "--version", from)
	}
	as(t, "create", 0, "create", small, "--version", from, "--storage", "1Gi", "--pd", "1", "--tikv", "3", "--tidb", "1")
	as(t, "status", 0, "status", small)
	as(t, "list", 0, "list")
	as(t, "list", 9, "status", small)
	as(t, "failover", 0, "failover", small)
	as(t, "maintenance-list", 0, "maintenance", "list")
	as(t, "list", 9, "maintenance", "list")
	as(t, "wait", 0, "wait", small, "--for=converged", "--timeout", "5m")
	as(t, "logs", 0, "logs", small, "tikv", "--tail", "1")
	as(t, "sql", 0, "sql", small, "-e", "SELECT 1")
	as(t, "events", 0, "events", small)
	as(t, "config-get", 0, "config", "get", small, "pd", "schedule")
	as(t, "config-diff", 0, "config", "diff", small, "pd")
	as(t, "config-set", 0, "config", "set", small, "pd", "schedule.leader-schedule-limit=8")
	as(t, "status", 9, "config", "set", small, "tidb", "log.level=warn", "--force")
	as(t, "backup-schedule", 0, "backup", "schedule", small, "0 0 1 1 *", "--in", "s3://b/p", "--service-account", "default", "--keep-last", "1", "--plugin-image", "a/b:1")
	as(t, "backup-list", 9, "backup", "schedule", small)
	as(t, "backup-schedule", 0, "backup", "schedule", small, "--remove")
	as(t, "abort", 0, "abort", small)
	as(t, "pause", 0, "pause", small, "--for", "1h", "--reason", "this test")
	as(t, "scale", 6, "scale", small, "tidb=2")
	as(t, "resume", 0, "resume", small)
	as(t, "status", 9, "pause", small)
	as(t, "status", 9, "scale", small, "tidb=2")
	as(t, "status", 9, "sync", small)
	as(t, "scale", 0, "scale", small, "tikv=4", "tidb=2")
	as(t, "rollback", 0, "rollback", small)
	as(t, "rollback", 3, "rollback", small)
	as(t, "scale", 9, "delete", small, "--yes")
	as(t, "sync", 0, "sync", small)
	as(t, "sync-namespaced", 0, "sync", small)
	as(t, "upgrade", 0, "upgrade", small, to, "--yes")
	as(t, "status", 9, "delete", small, "--yes")
	as(t, "delete", 0, "delete", small, "--yes", "--delete-pvcs")
}

// grant gives a service account, with the name of the verb and the flag, what "auth role" prints,
// and nothing else.
func grant(t *testing.T, limited plugin.Plugin, verb, flag string) {
	t.Helper()
	user := strings.ReplaceAll(verb, " ", "-") + strings.ReplaceAll(flag, "--", "-")
	args := append([]string{"auth", "role"}, strings.Fields(verb)...)
	printed := limited.Run(t.Context(), nil, append(args, strings.Fields(flag)...)...)
	if printed.Code != 0 {
		t.Fatalf("auth role %s: %s", verb, printed.Stderr)
	}
	api, name := shared.Kube.RbacV1(), "kubectl-tidb-e2e-"+user
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: limited.Namespace, Name: user}}
	meta := metav1.ObjectMeta{Name: name}
	_ = api.ClusterRoles().Delete(t.Context(), name, metav1.DeleteOptions{})
	_ = api.ClusterRoleBindings().Delete(t.Context(), name, metav1.DeleteOptions{})
	for _, part := range strings.Split(printed.Stdout, "---\n") {
		var role rbacv1.ClusterRole // a Role has the same fields
		if err := yaml.UnmarshalStrict([]byte(part), &role); err != nil {
			t.Fatal(err)
		}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.Kind, Name: name}
		var errs [2]error
		if role.Kind == "ClusterRole" {
			errs[0] = ignored(api.ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: role.Rules}, metav1.CreateOptions{}))
			errs[1] = ignored(api.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: ref}, metav1.CreateOptions{}))
		} else {
			errs[0] = ignored(api.Roles(limited.Namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: role.Rules}, metav1.CreateOptions{}))
			errs[1] = ignored(api.RoleBindings(limited.Namespace).Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: ref}, metav1.CreateOptions{}))
		}
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

func ignored[T any](_ T, err error) error { return err }
