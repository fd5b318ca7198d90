package cli

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/rbac"
)

// TestRightsOfVerbs: what a verb asks the API server for is among the rights that "auth role" prints
// for it, and each verb that asks for anything is known there.
func TestRightsOfVerbs(t *testing.T) {
	for name, args := range typical(t) {
		if name == "version" { // of what every user may read
			continue
		}
		if asked := wantRights(t, name, args); len(asked) == 0 {
			t.Errorf("%s has asked for nothing", name)
		}
	}
	if asked := wantRights(t, "replace", []string{"basic", "--away-from", "node-7"}); !slices.Contains(asked, "get /nodes") {
		t.Errorf("replace --away-from has not read the node: %q", asked)
	}
}

// wantRights fails the test where a verb asks for something without a right to it. It returns what the verb asks for, as
// "verb group/resource".
func wantRights(t *testing.T, name string, args []string) (asked []string) {
	t.Helper()
	c, known := rbac.CommandOf(name)
	if !known {
		t.Errorf("%s has no rights", name)
		return nil
	}
	server := serve(t, nothingLeft())
	server.call(t, append(strings.Fields(name), args...)...)
	rules := c.Rules(rbac.Namespace, rbac.Everywhere)
	for _, request := range server.requests() {
		resource, verb, ok := asks(t, request)
		if !ok {
			continue
		}
		asked = append(asked, verb+" "+resource)
		if !slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
			return r.APIGroups[0]+"/"+r.Resources[0] == resource && slices.Contains(r.Verbs, verb)
		}) {
			t.Errorf("%s: no right to %s %s, for %s", name, verb, resource, request)
		}
	}
	return asked
}

// asks returns the resource and the verb of a request, as RBAC sees them; not ok for one that is
// not about a resource.
func asks(t *testing.T, request string) (resource, verb string, ok bool) {
	t.Helper()
	method, uri, _ := strings.Cut(request, " ")
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	group := ""
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		group, parts = parts[1], parts[3:]
	default:
		return "", "", false
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	verb = map[string]string{"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get"}[method]
	switch {
	case u.Query().Get("watch") != "":
		verb = "watch"
	case method == "GET" && len(parts) == 1:
		verb = "list"
	}
	resource = group + "/" + parts[0]
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	return resource, verb, true
}
