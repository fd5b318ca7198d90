package observe

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/sets"
)

// Claims reads all claims that have labels of a TiDB cluster, in a namespace or with "" in all. It reads all pods
// there too, because any pod may mount a claim.
func Claims(ctx context.Context, kube kubernetes.Interface, namespace string) ([]corev1.PersistentVolumeClaim, []corev1.Pod, error) {
	claims, err := kube.CoreV1().PersistentVolumeClaims(namespace).List(ctx, ofAll())
	if err != nil {
		return nil, nil, fmt.Errorf("list persistentvolumeclaims: %w", err)
	}
	pods, err := kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("list pods: %w", err)
	}
	return claims.Items, pods.Items, nil
}

// Sets reads all StatefulSets of both kinds that have labels of a TiDB cluster. It reads a namespace, or with "" all of
// them. Where AdvancedStatefulSets are not needed, a user without the right to list that kind gets the StatefulSets
// of Kubernetes.
func Sets(ctx context.Context, kube kubernetes.Interface, namespace string, needed bool) ([]appsv1.StatefulSet, error) {
	list, err := kube.AppsV1().StatefulSets(namespace).List(ctx, ofAll())
	if err != nil {
		return nil, fmt.Errorf("list statefulsets: %w", err)
	}
	served, err := sets.Served(kube)
	if err != nil || !served {
		return list.Items, err
	}
	advanced, err := sets.Of(kube, namespace, true).List(ctx, ofAll())
	switch {
	case err != nil && !needed && denial.Of(err).Permission():
		return list.Items, nil
	case err != nil:
		return nil, fmt.Errorf("list %s: %w", sets.Resource.GroupResource(), err)
	}
	return append(list.Items, advanced.Items...), nil
}

// Budgets reads all PodDisruptionBudgets of a namespace. Any of them may select the pods of a cluster.
func Budgets(ctx context.Context, kube kubernetes.Interface, namespace string) (*policyv1.PodDisruptionBudgetList, error) {
	budgets, err := kube.PolicyV1().PodDisruptionBudgets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list poddisruptionbudgets: %w", err)
	}
	return budgets, nil
}

// ofAll selects the objects of all TiDB clusters.
func ofAll() metav1.ListOptions {
	own := topology.Cluster{}.Selector()
	delete(own, topology.LabelInstance)
	return metav1.ListOptions{LabelSelector: labels.SelectorFromSet(own).String()}
}
