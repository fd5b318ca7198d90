package issue

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Names returns the names of all Secrets that this program makes for a cluster with TLS, the authorities last.
func Names(c topology.Cluster) []string {
	c.TLS.Members, c.TLS.SQL = true, true
	var names []string
	for _, w := range topology.AllCertificates(c) {
		names = append(names, w.Secret)
	}
	names = append(names, c.AuthoritySecret(topology.MembersCircle), c.AuthoritySecret(topology.SQLCircle))
	return names
}

// Made returns the names of the Secrets of a cluster that this program has made, the authorities last. It looks for
// all components that the cluster can have. The Secrets are read by name, because a right to list Secrets is a right
// to read all of them. Whether the cluster has TLS, or is still there, does not matter.
func Made(ctx context.Context, kube kubernetes.Interface, c topology.Cluster) ([]string, error) {
	var made []string
	for _, name := range Names(c) {
		got, err := kube.CoreV1().Secrets(c.Namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return nil, fmt.Errorf("read secret %s/%s: %w", c.Namespace, name, err)
		}
		if got.Annotations[annIssuer] != "" {
			made = append(made, name)
		}
	}
	return made, nil
}
