package rbac

import (
	"slices"
	"strings"
	"testing"
)

// unseen are rights that no request shows: the API server checks them when an object gets an owner
// reference to a TidbCluster.
var unseen = []string{"pingcap.com/tidbclusters/finalizers update"}

// basic are requests that Kubernetes allows for every user (system:basic-user).
var basic = []string{"authorization/selfsubjectaccessreviews create"}

// TestRightsAreThoseOfTheSource: each request that the plugin can make has its
// right, and each right its request.
func TestRightsAreThoseOfTheSource(t *testing.T) {
	made := callsOfPlugin(t)
	if len(made) < 40 {
		t.Errorf("found only %d kinds of requests, so this test shows nothing", len(made))
	}
	granted := map[string]bool{}
	for _, r := range rights {
		for _, verb := range r.Verbs {
			granted[r.request(verb)] = true
		}
	}
	for call, places := range made {
		if !granted[call] && !slices.Contains(basic, call) {
			t.Errorf("no right to %s, which is requested in %s", call, strings.Join(places, ", "))
		}
	}
	for call := range granted {
		if len(made[call]) == 0 && !slices.Contains(unseen, call) {
			t.Errorf("no request needs the right to %s", call)
		}
	}
}

// The rights of a viewer change nothing.
func TestViewer(t *testing.T) {
	for _, r := range Rights(Viewer) {
		for _, verb := range r.Verbs {
			if r.Resource != "pods/portforward" && !slices.Contains([]string{"get", "list", "watch"}, verb) {
				t.Errorf("a viewer may %s %s", verb, r.Resource)
			}
		}
	}
}

func TestRights(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rights {
		if r.For == "" || !slices.IsSorted(r.Verbs) || !slices.Contains(Roles(), r.Role) {
			t.Errorf("not well-formed: %+v", r)
		}
		if r.Scope == Everywhere && r.Without == "" && r.Role != Installer {
			t.Errorf("%s %v: the right must be needed in the namespace only, so that users with rights in one namespace can drive clusters", r.Resource, r.Verbs)
		}
		for _, verb := range r.Verbs {
			key := strings.Join([]string{r.Group, r.Resource, verb, string(rune('0' + r.Scope))}, " ")
			if seen[key] {
				t.Errorf("%s is there twice", key)
			}
			seen[key] = true
		}
	}
}

func TestRules(t *testing.T) {
	rule := func(role Role, scope Scope, resource string) string {
		for _, r := range Rules(role, scope) {
			if r.Resources[0] == resource {
				return r.APIGroups[0] + ": " + strings.Join(r.Verbs, " ")
			}
		}
		return ""
	}
	for _, tt := range []struct {
		role     Role
		scope    Scope
		resource string
		want     string
	}{
		{Viewer, Namespace, "tidbclusters", "pingcap.com: get list watch"},
		{Driver, Namespace, "tidbclusters", "pingcap.com: get list patch watch"},
		{Editor, Namespace, "tidbclusters", "pingcap.com: create delete get list patch watch"},
		{Editor, Everywhere, "tidbclusters", "pingcap.com: list"},
		{Driver, Everywhere, "persistentvolumes", ": get patch"},
		{Editor, Everywhere, "persistentvolumes", ": get list patch"},
		{Viewer, Everywhere, "persistentvolumes", ": get"},
		{Installer, Everywhere, "customresourcedefinitions", "apiextensions.k8s.io: create get patch watch"},
		{Installer, Namespace, "pods", ""},
		{Editor, Everywhere, "customresourcedefinitions", ""},
		{Editor, Everywhere, "nodes", ": get list"},
		{Editor, Everywhere, "pods", ""},
		{Maintainer, Everywhere, "nodes", ": get list patch"},
		{Maintainer, Everywhere, "pods", ": list"},
	} {
		if got := rule(tt.role, tt.scope, tt.resource); got != tt.want {
			t.Errorf("%s, scope %d, %s: %q, want %q", tt.role, tt.scope, tt.resource, got, tt.want)
		}
	}
}

// TestCommands: what a command is said to need, or not to need, is among the rights of its role.
func TestCommands(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Commands() {
		if seen[c.Name] {
			t.Errorf("%s is there twice", c.Name)
		}
		seen[c.Name] = true
		of := map[string]bool{}
		for _, r := range Rights(c.Role) {
			for _, verb := range r.Verbs {
				of[r.request(verb)] = true
			}
		}
		for _, request := range slices.Concat(c.only, c.except) {
			if !of[request] {
				t.Errorf("%s: %s is no right of its role", c.Name, request)
			}
		}
		if len(c.Rights()) == 0 {
			t.Errorf("%s needs nothing", c.Name)
		}
	}
	has := func(name, request string) bool {
		c, _ := CommandOf(name)
		return slices.ContainsFunc(c.Rights(), func(r Right) bool {
			return slices.ContainsFunc(r.Verbs, func(verb string) bool { return r.request(verb) == request })
		})
	}
	for request, by := range map[string]string{
		creates: "apply backup drill create", deletes: "backup drill delete", deletesSecrets: "backup drill",
		"pingcap.com/tidbclusters patch": "abort apply backup drill config set create doctor edit failover run maintenance start maintenance stop pause promote replace restart restore resume rollback scale sync tls rotate upgrade",
		"/secrets create":                "abort apply backup drill config set create edit failover run promote replace restart rollback scale sync tls init tls rotate upgrade",
		"/secrets update":                "tls rotate",
		readsNodes:                       "abort apply backup drill config set create doctor edit failover run maintenance start maintenance stop promote replace report restart rollback scale status sync tls rotate upgrade why",
		"/nodes patch":                   "maintenance start maintenance stop",
		"/pods delete":                   "abort apply backup drill config set create edit failover run promote replace restart rollback scale sync tls rotate upgrade",
		"/secrets get":                   "abort apply backup create backup delete backup drill backup log status backup prune backup schedule backup verify config diff config get config set create dashboard delete doctor edit evict-leader failover failover run maintenance start maintenance stop plan promote pvc list pvc prune replace report restart restore rollback scale sql status sync tls check tls init tls rotate transfer-leader upgrade wait why",
		readsIssued:                      "backup drill delete tls init",
		readsBackups:                     "backup create backup delete backup drill backup list backup prune backup schedule backup show backup verify restore upgrade",
		makesBackups:                     "backup create backup schedule",
		deletesBackups:                   "backup delete backup prune backup schedule",
		makesJobs:                        "backup create backup delete backup drill backup prune backup schedule backup verify restore",
		readsLogs:                        "backup create backup delete backup drill backup prune backup schedule backup verify logs report restore",
		"/pods list":                     "abort apply backup create backup delete backup drill backup log status backup prune backup schedule backup verify config diff config get config set create dashboard delete doctor edit evict-leader failover failover run logs maintenance start maintenance stop plan promote pvc list pvc prune replace report restart restore rollback scale sql status sync tls check tls rotate transfer-leader upgrade wait why",
	} {
		var got []string
		for _, c := range Commands() {
			if has(c.Name, request) {
				got = append(got, c.Name)
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != by {
			t.Errorf("%s is needed by %q", request, got)
		}
	}
	if _, known := CommandOf("version"); known {
		t.Error("version needs no right")
	}
}
