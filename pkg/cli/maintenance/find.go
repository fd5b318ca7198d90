package maintenance

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/hosts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
)

// find returns the clusters with members on a node: of all namespaces, or of the namespace of -n. It also
// returns pods that look like members of a cluster that does not exist.
func find(ctx context.Context, f *factory.Factory, kube kubernetes.Interface, name string) (found []hosts.Cluster, others []string, err error) {
	namespace, clusters, err := listed(ctx, f)
	if err != nil {
		return nil, nil, err
	}
	pods, err := kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", name).String(),
		LabelSelector: topology.LabelInstance + "," + topology.LabelComponent,
	})
	if err != nil {
		return nil, nil, unlisted(fmt.Errorf("list pods of node %s: %w", name, err))
	}
	for _, p := range pods.Items {
		if !isMember(p) {
			continue
		}
		known := false
		for i := range clusters {
			c := clusters[i]
			if c.Namespace != p.Namespace || c.Instance != p.Labels[topology.LabelInstance] {
				continue
			}
			known = true
			if at := (hosts.Cluster{Namespace: c.Namespace, Name: c.Name}); !slices.ContainsFunc(found, func(o hosts.Cluster) bool { return o.String() == at.String() }) {
				found = append(found, at)
			}
		}
		if !known {
			others = append(others, p.Namespace+"/"+p.Name)
		}
	}
	slices.SortFunc(found, func(a, b hosts.Cluster) int { return cmp.Compare(a.String(), b.String()) })
	return found, others, nil
}

// listed returns the clusters of all namespaces, or of the namespace of -n, and that namespace.
func listed(ctx context.Context, f *factory.Factory) (namespace string, all []topology.Cluster, err error) {
	given := f.Flags.Namespace != nil && *f.Flags.Namespace != ""
	namespace, clusters, err := (&target.Found{AllNamespaces: !given}).List(ctx, f)
	if err != nil && len(clusters) == 0 { // one that cannot be decoded has a name, too
		return "", nil, unlisted(err)
	}
	for i := range clusters {
		all = append(all, topology.New(&clusters[i]))
	}
	return namespace, all, nil
}

// isMember reports whether a pod is one of a cluster's components, and has not ended.
func isMember(p corev1.Pod) bool {
	_, component := topology.ParseKind(p.Labels[topology.LabelComponent])
	return component && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
}

// unlisted adds to an error without rights in all namespaces what helps.
func unlisted(err error) error {
	if !denial.Missing(err) {
		return err
	}
	return remedy.For(err, remedy.Run("see which rights are needed", remedy.Plugin("", "auth", "role", "maintenance", "start")),
		remedy.Say("to look for clusters in one namespace only, give it with -n"))
}
