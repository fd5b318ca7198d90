package daemon

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/rbac"
)

// objects returns all objects of the manifest, in the order in which they are created. Rights exist before the pods
// that need them.
func (o options) objects(namespace string) []runtime.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: o.name, Labels: o.labels()}
	all := []runtime.Object{&corev1.ServiceAccount{TypeMeta: kind("v1", "ServiceAccount"), ObjectMeta: meta}}
	all = append(all, o.rights(meta)...)
	all = append(all, o.deployments(meta)...)
	all = append(all, budget(meta), service(meta), o.policy(meta))
	if o.serviceMonitor {
		all = append(all, serviceMonitor(meta))
	}
	return all
}

func kind(version, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version, Kind: kind}
}

// labels returns the labels of all objects, which also select the pods. Objects of TidbClusters do
// not have them.
func (o options) labels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": "kubectl-tidb", "app.kubernetes.io/component": "daemon", "app.kubernetes.io/instance": o.name}
}

// rights returns a role and its binding, for one namespace or for all.
func (o options) rights(meta metav1.ObjectMeta) []runtime.Object {
	const api = "rbac.authorization.k8s.io"
	role := rbacv1.RoleRef{APIGroup: api, Kind: "Role", Name: meta.Name}
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: meta.Namespace, Name: meta.Name}}
	if !o.everywhere {
		return []runtime.Object{
			&rbacv1.Role{TypeMeta: kind(api+"/v1", "Role"), ObjectMeta: meta, Rules: rules(rbac.Namespace)},
			&rbacv1.RoleBinding{TypeMeta: kind(api+"/v1", "RoleBinding"), ObjectMeta: meta, RoleRef: role, Subjects: subjects},
		}
	}
	// The name contains the namespace: otherwise a daemon of another namespace would overwrite the
	// binding.
	role.Kind, role.Name = "ClusterRole", meta.Namespace+":"+meta.Name
	meta.Namespace, meta.Name = "", role.Name
	return []runtime.Object{
		&rbacv1.ClusterRole{TypeMeta: kind(api+"/v1", "ClusterRole"), ObjectMeta: meta, Rules: rules(rbac.Namespace, rbac.Everywhere)},
		&rbacv1.ClusterRoleBinding{TypeMeta: kind(api+"/v1", "ClusterRoleBinding"), ObjectMeta: meta, RoleRef: role, Subjects: subjects},
	}
}

// rules returns the rules of a driver, without the rights that only commands at a terminal need. In the cluster pods
// are connected to directly, no arguments are completed, and no logs and events are read.
func rules(scopes ...rbac.Scope) []rbacv1.PolicyRule {
	all := rbac.Rules(rbac.Driver, scopes...)
	for i := range all {
		if all[i].Resources[0] == "events" {
			all[i].Verbs = slices.DeleteFunc(all[i].Verbs, func(verb string) bool { return verb == "list" || verb == "watch" })
		}
	}
	return slices.DeleteFunc(all, func(r rbacv1.PolicyRule) bool {
		return slices.Contains([]string{"pods/portforward", "pods/log", "namespaces"}, r.Resources[0])
	})
}

// budget allows a drain to evict one pod at a time, and a pod that is not Ready at once. It has
// maxUnavailable, so that a single replica does not block a drain.
func budget(meta metav1.ObjectMeta) runtime.Object {
	one, always := intstr.FromInt32(1), policyv1.AlwaysAllow
	return &policyv1.PodDisruptionBudget{
		TypeMeta: kind("policy/v1", "PodDisruptionBudget"), ObjectMeta: meta,
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &one, UnhealthyPodEvictionPolicy: &always,
			Selector: &metav1.LabelSelector{MatchLabels: meta.Labels},
		},
	}
}

func service(meta metav1.ObjectMeta) runtime.Object {
	return &corev1.Service{
		TypeMeta: kind("v1", "Service"), ObjectMeta: meta,
		Spec: corev1.ServiceSpec{
			Selector: meta.Labels,
			Ports:    []corev1.ServicePort{{Name: portName, Port: port, TargetPort: intstr.FromString(portName)}},
		},
	}
}

// policy lets only pods of the daemon's namespace, and of those that the user names, connect to the daemon. Its metrics
// name all clusters and members, and need no password. The kubelet's probes come from the node, and pass.
func (o options) policy(meta metav1.ObjectMeta) runtime.Object {
	from := []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}
	for _, namespace := range o.metricsFrom {
		from = append(from, networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{corev1.LabelMetadataName: namespace},
		}})
	}
	at := intstr.FromString(portName)
	return &networkingv1.NetworkPolicy{
		TypeMeta: kind("networking.k8s.io/v1", "NetworkPolicy"), ObjectMeta: meta,
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: meta.Labels},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{{Port: &at}}, From: from}},
		},
	}
}

// serviceMonitor makes Prometheus scrape each pod, since each pod only has the clusters that it
// drives.
func serviceMonitor(meta metav1.ObjectMeta) runtime.Object {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor",
		"metadata": map[string]any{"namespace": meta.Namespace, "name": meta.Name, "labels": plain(meta.Labels)},
		"spec": map[string]any{
			"selector":  map[string]any{"matchLabels": plain(meta.Labels)},
			"endpoints": []any{map[string]any{"port": portName, "path": "/metrics"}},
		},
	}}
}

func plain(labels map[string]string) map[string]any {
	out := map[string]any{}
	for k, v := range labels {
		out[k] = v
	}
	return out
}
