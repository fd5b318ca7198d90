package auth

import (
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/rbac"
)

// printed returns what the arguments print.
func printed(args string) (text string, err error) {
	cmd := command(func(o options) (err error) { text, err = o.text("prod"); return err })
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(io.Discard)
	cmd.SetArgs(strings.Fields(args))
	return text, cmd.Execute()
}

// TestRoles: each verb has its rights in what is printed, and with --namespaced none outside of the
// namespace.
func TestRoles(t *testing.T) {
	for _, c := range rbac.Commands() {
		text := ""
		cmd := command(func(o options) (err error) { text, err = o.text("prod"); return err })
		cmd.SetArgs(append([]string{"role"}, strings.Fields(c.Name)...))
		if err := cmd.Execute(); err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		want := map[string][]rbacv1.PolicyRule{"Role": c.Rules(rbac.Namespace), "ClusterRole": c.Rules(rbac.Everywhere)}
		for _, part := range strings.Split(text, "---\n") {
			var got rbacv1.ClusterRole // a Role has the same fields
			if err := yaml.UnmarshalStrict([]byte(part), &got); err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
			if got.Name != "kubectl-tidb-"+strings.ReplaceAll(c.Name, " ", "-") || (got.Namespace == "prod") != (got.Kind == "Role") || !reflect.DeepEqual(got.Rules, want[got.Kind]) {
				t.Errorf("%s: %s", c.Name, part)
			}
			delete(want, got.Kind)
		}
		for kind, rules := range want {
			if len(rules) > 0 {
				t.Errorf("%s: there is no %s", c.Name, kind)
			}
		}
	}
}

func TestFlags(t *testing.T) {
	text, err := printed("role upgrade --namespaced")
	if err != nil || !strings.HasPrefix(text, "apiVersion: ") || strings.Contains(text, "ClusterRole") {
		t.Errorf("%v: %s", err, text)
	}
	if text, err = printed("role upgrade"); err != nil || !strings.Contains(text, "\n# get, list nodes: where stores are, for PD to spread replicas by; whether a node is under maintenance, or is not Ready; whether there is a node that can use the volume of a pod that waits for a node; whether the kubelet's report on a silent member of PD, or on a pod that has ended, is fresh; whether the node of `replace --away-from` is cordoned. Without it: stores keep the labels that they have, no maintenance, no lost node and no lost volume is shown, a silent member of PD counts as one that may serve, only PD's word lets a pod that has ended be replaced, and `replace --away-from` is refused.\n") {
		t.Errorf("%v: %s", err, text)
	}
	if strings.Count(text, "# What each right outside of the namespace is for") != 1 || strings.Contains(text, ": the same") {
		t.Errorf("the comments cannot be read alone: %s", text)
	}
	if text, err = printed("role init"); err != nil || !strings.HasPrefix(text, "apiVersion: ") {
		t.Errorf("a comment about nothing: %v: %s", err, text)
	}
	for args, says := range map[string]string{
		"":                       "role, and the name of a verb",
		"roles":                  "role, and the name of a verb",
		"role":                   `"" is no verb that needs rights`,
		"role version":           `"version" is no verb that needs rights; those are list, status`,
		"role init --namespaced": "--namespaced leaves nothing",
	} {
		if _, err := printed(args); exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestComplete(t *testing.T) {
	for args, want := range map[string]string{"": "role", "role": "upgrade", "role failover": "run"} {
		if found, _ := complete(nil, strings.Fields(args), ""); !slices.Contains(found, want) {
			t.Errorf("%q: %q", args, found)
		}
	}
	if found, _ := complete(nil, []string{"role", "upgrade"}, ""); len(found) > 0 {
		t.Errorf("after a verb: %q", found)
	}
}
