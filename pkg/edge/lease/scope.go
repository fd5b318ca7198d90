package lease

import (
	"context"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
)

// Scope describes which clusters an operator drives. The zero value is all of them.
type Scope struct {
	// Namespaces are the only namespaces in scope; nil for all.
	Namespaces []string
	// Selector selects the TidbClusters in scope; nil for all.
	Selector labels.Selector
	// Unread is true if neither the operator's Deployment nor its bindings may be
	// read. It is then assumed to drive all clusters.
	Unread bool
}

// Covers reports whether a cluster is within the scope.
func (s Scope) Covers(t Target) bool {
	if s.Namespaces != nil && !slices.Contains(s.Namespaces, t.Namespace) {
		return false
	}
	return s.Selector == nil || s.Selector.Matches(labels.Set(t.Labels))
}

// scopeOf returns the scope of the operator that holds a lease. It reads the arguments of the operator's Deployment,
// else the bindings of the service accounts in the operator's namespace. A scope that cannot be read is taken for
// all clusters: two drivers of one cluster do more harm than none.
func scopeOf(ctx context.Context, kube kubernetes.Interface, namespace, lease, holder string) Scope {
	pod, _, _ := strings.Cut(holder, "_")
	for _, name := range []string{deploymentOf(pod), lease} {
		if d, err := kube.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{}); err == nil {
			return scopeIn(d)
		}
	}
	if bound, known := boundNamespaces(ctx, kube, namespace); known {
		return Scope{Namespaces: bound}
	}
	return Scope{Unread: true}
}

// deploymentOf returns the name of the Deployment of a pod. The pod's name is that name with two generated parts.
func deploymentOf(pod string) string {
	parts := strings.Split(pod, "-")
	return strings.Join(parts[:max(len(parts)-2, 1)], "-")
}

// scopeIn reads the operator's own flags.
func scopeIn(d *appsv1.Deployment) Scope {
	var s Scope
	for _, c := range d.Spec.Template.Spec.Containers {
		words := slices.Concat(c.Command, c.Args)
		if wide, err := strconv.ParseBool(flagIn(words, "cluster-scoped")); err == nil && !wide {
			s.Namespaces = []string{d.Namespace}
		}
		if only, err := labels.Parse(flagIn(words, "selector")); err == nil && !only.Empty() {
			s.Selector = only
		}
	}
	return s
}

// flagIn returns the value of a flag in the words of a command line, "" when it is
// not there. The last one counts.
func flagIn(words []string, flag string) string {
	value := ""
	for i, w := range words {
		bare := strings.TrimLeft(w, "-")
		if bare == w {
			continue
		}
		name, v, assigned := strings.Cut(bare, "=")
		switch {
		case name != flag:
		case assigned:
			value = v
		case i+1 < len(words) && !strings.HasPrefix(words[i+1], "-"):
			value = words[i+1]
		}
	}
	return value
}

// boundNamespaces returns the namespaces in which service accounts of an operator's namespace have rights. It
// returns nil where they have rights in all. Without any binding, known is false: the operator then gets its rights
// in another way.
func boundNamespaces(ctx context.Context, kube kubernetes.Interface, namespace string) (bound []string, known bool) {
	wide, err := kube.RbacV1().ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, false
	}
	for _, b := range wide.Items {
		if binds(b.Subjects, namespace) {
			return nil, true
		}
	}
	narrow, err := kube.RbacV1().RoleBindings(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, false
	}
	for _, b := range narrow.Items {
		if binds(b.Subjects, namespace) {
			bound = append(bound, b.Namespace)
		}
	}
	return bound, len(bound) > 0
}

// binds reports whether a binding is for a service account of a namespace.
func binds(subjects []rbacv1.Subject, namespace string) bool {
	return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
		return s.Kind == rbacv1.ServiceAccountKind && s.Namespace == namespace ||
			s.Kind == rbacv1.GroupKind && (s.Name == "system:serviceaccounts" || s.Name == "system:serviceaccounts:"+namespace)
	})
}
