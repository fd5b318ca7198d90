// Package auth is the verb that prints the rights which another verb needs.
package auth

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/rbac"
)

// options are the verb's flags and its arguments.
type options struct {
	command    rbac.Command
	namespaced bool
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(func(o options) error { return run(f, o) })
}

func command(run func(options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "auth role VERB",
		Short: "Print the rights in Kubernetes that a verb needs",
		Long: `Print the rights that a verb needs, and no others, for "kubectl apply":

* a Role, with the rights in the namespace of -n
* a ClusterRole, with the rights outside of it, as on nodes and volumes

Only init and maintenance need the ClusterRole. Other verbs work with the Role alone, but do
less: the comments above the ClusterRole say what is missing without each right. With
--namespaced only the Role is printed.

VERB is one of ` + names() + `. A daemon has
its rights in "kubectl tidb daemon manifest".`,
		Example: `  # What a pipeline needs that upgrades clusters in the namespace prod
  kubectl tidb auth role upgrade -n prod | kubectl apply -f -
  kubectl create rolebinding ci -n prod --role kubectl-tidb-upgrade --user ci
  kubectl create clusterrolebinding ci --clusterrole kubectl-tidb-upgrade --user ci

  # Only the Role, where nobody may have rights outside of the namespace
  kubectl tidb auth role upgrade -n prod --namespaced`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] != "role" {
				return exit.Usagef("there is one thing to print: role, and the name of a verb")
			}
			known := false
			if o.command, known = rbac.CommandOf(strings.Join(args[1:], " ")); !known {
				return exit.Usagef("%q is no verb that needs rights; those are %s", strings.Join(args[1:], " "), names())
			}
			return nil
		},
		ValidArgsFunction: complete,
		RunE:              func(*cobra.Command, []string) error { return run(o) },
	}
	cmd.Flags().BoolVar(&o.namespaced, "namespaced", false, "Print only the Role, with no rights outside of the namespace.")
	return cmd
}

func names() string {
	var all []string
	for _, c := range rbac.Commands() {
		all = append(all, c.Name)
	}
	return strings.Join(all, ", ")
}

// complete completes "role" and a verb, word by word.
func complete(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var found []string
	before := strings.Join(args, " ")
	for _, c := range rbac.Commands() {
		words := strings.Fields("role " + c.Name)
		if len(args) < len(words) && strings.Join(words[:len(args)], " ") == before {
			found = append(found, words[len(args)])
		}
	}
	slices.Sort(found)
	return slices.Compact(found), cobra.ShellCompDirectiveNoFileComp
}

func run(f *factory.Factory, o options) error {
	namespace, err := f.Namespace()
	if err != nil {
		return err
	}
	text, err := o.text(namespace)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(f.Streams.Out, text)
	return err
}

// text returns the objects, those for everywhere with what their rights are for.
func (o options) text(namespace string) (string, error) {
	const version = "rbac.authorization.k8s.io/v1"
	meta := metav1.ObjectMeta{Name: "kubectl-tidb-" + strings.ReplaceAll(o.command.Name, " ", "-"), Namespace: namespace}
	var parts []string
	add := func(comment string, object runtime.Object) error {
		text, err := output.Document([]runtime.Object{object})
		parts = append(parts, comment+text)
		return err
	}
	inside, everywhere := o.command.Rules(rbac.Namespace), o.command.Rules(rbac.Everywhere)
	if len(inside) > 0 {
		role := &rbacv1.Role{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "Role"}, ObjectMeta: meta, Rules: inside}
		if err := add("", role); err != nil {
			return "", err
		}
	}
	if len(inside) == 0 && o.namespaced {
		return "", exit.Usagef("%s needs rights outside of namespaces, so --namespaced leaves nothing", o.command.Name)
	}
	if len(everywhere) > 0 && !o.namespaced {
		meta.Namespace = ""
		role := &rbacv1.ClusterRole{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "ClusterRole"}, ObjectMeta: meta, Rules: everywhere}
		if err := add(o.missingRights(), role); err != nil {
			return "", err
		}
	}
	return strings.Join(parts, "---\n"), nil
}

// missingRights says, as comments, what happens without each right outside of the namespace.
func (o options) missingRights() string {
	var b strings.Builder
	for _, r := range o.command.Rights() {
		if r.Scope == rbac.Everywhere && r.Without != "" {
			fmt.Fprintf(&b, "# %s %s: %s. Without it: %s.\n", strings.Join(r.Verbs, ", "), r.Resource, r.For, r.Without)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "# What each right outside of the namespace is for, and what happens without it:\n" + b.String()
}
