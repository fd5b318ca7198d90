package observe

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Claims reads all claims that have labels of a TiDB cluster, in a namespace or with "" in all of them,
// and all pods there: any pod may mount a claim.
func Claims(ctx context.Context, kube kubernetes.Interface, namespace string) ([]corev1.PersistentVolumeClaim, []corev1.Pod, error) {
	ofAll := topology.Cluster{}.Selector()
	delete(ofAll, topology.LabelInstance)
	claims, err := kube.CoreV1().PersistentVolumeClaims(namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(ofAll).String()})
	if err != nil {
		return nil, nil, fmt.Errorf("list persistentvolumeclaims: %w", err)
	}
	pods, err := kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("list pods: %w", err)
	}
	return claims.Items, pods.Items, nil
}
