package main

import (
	"fmt"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/rbac"
)

// roles are what the page says of each role.
var roles = map[rbac.Role]string{
	rbac.Viewer: "Who looks: %s. Nothing can be changed with it in Kubernetes; but a connection to PD is one to its API, " +
		"which asks for no password.",
	rbac.Driver:     "Who makes clusters as their TidbClusters say: %s, or a process that does so all the time. With the rights of a viewer.",
	rbac.Editor:     "Who changes what is wanted, and has it done: %s. With the rights of a viewer and of a driver.",
	rbac.Maintainer: "Who takes nodes down for a while: %s. With the rights of all those before.",
	rbac.Scheduler: "Who has pods of Kubernetes back up clusters: %s. The pods get rights, which their user needs as well. With the rights " +
		"of all those before, of which the verb needs few: see `kubectl tidb auth role backup schedule`.",
	rbac.Installer: "Who runs %s, once in the life of a Kubernetes cluster. It has no rights of the others.",
}

// verbs lists the verbs that need a role.
func verbs(role rbac.Role) string {
	var all []string
	for _, c := range rbac.Commands() {
		if c.Role == role {
			all = append(all, "`"+c.Name+"`")
		}
	}
	return strings.Join(all, ", ")
}

// permissions is the page of the rights in Kubernetes.
func permissions() string {
	var b strings.Builder
	b.WriteString("<!-- Made by cmd/gen-docs: change pkg/edge/rbac, then run make generate. -->\n# Permissions\n\n" +
		"The rights in Kubernetes that the plugin needs, all of them and no more: a test holds the list to the requests that the " +
		"source makes. Those *in the namespace* of the clusters are necessary. Those *everywhere* are for what has no namespace, " +
		"and for looking into others; without them less is done, and what is not done is reported where it matters.\n\n" +
		"A verb that is refused ends with exit code 9 and names the right that it lacks.\n")
	for _, role := range rbac.Roles() {
		title := strings.ToUpper(string(role[0])) + string(role[1:])
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", title, fmt.Sprintf(roles[role], verbs(role)))
		for _, scope := range []rbac.Scope{rbac.Namespace, rbac.Everywhere} {
			rights(&b, role, scope)
		}
	}
	return b.String()
}

func rights(b *strings.Builder, role rbac.Role, scope rbac.Scope) {
	title := map[rbac.Scope]string{rbac.Namespace: "in the namespace", rbac.Everywhere: "everywhere"}[scope]
	first := true
	for _, r := range rbac.Rights(role) {
		if r.Role != role || r.Scope != scope {
			continue
		}
		if first {
			fmt.Fprintf(b, "\n| %s | verbs | for | without |\n| --- | --- | --- | --- |\n", title)
			first = false
		}
		resource := r.Resource
		if r.Group != "" {
			name, sub, is := strings.Cut(resource, "/")
			if resource = name + "." + r.Group; is {
				resource += "/" + sub
			}
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", resource, strings.Join(r.Verbs, ", "), r.For, r.Without)
	}
}
