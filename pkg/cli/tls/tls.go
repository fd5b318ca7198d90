// Package tls is the verb that makes, shows and renews the certificates of a cluster.
package tls

import (
	"context"
	"errors"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/parent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return parent.New(&cobra.Command{
		Use:   "tls init|check|rotate NAME",
		Short: "Make, check and renew the certificates of a cluster",
		Long: `Make, check and renew the certificates of a cluster with TLS.

"init" makes the Secrets that members and clients need, with the names of all members,
now and after scaling. "check" shows what is in them, until when it is valid, what is wrong
with it, and which certificate each member shows. "rotate" has new ones issued.`,
		SuggestFor: []string{"cert", "certificates", "secrets"},
	}, newInit(f), newCheck(f), newRotate(f))
}

// cluster returns the cluster with a name. One that does not exist yet is to have TLS everywhere.
func cluster(ctx context.Context, s *target.Session, domain string, joins *v1alpha1.TidbClusterRef) (c topology.Cluster, exists bool, err error) {
	tc, err := s.Load(ctx)
	bad, malformed := errors.AsType[*intent.MalformedError](err)
	_, missing := errors.AsType[*intent.NotFoundError](err)
	switch {
	case err == nil:
		return topology.New(tc), true, nil
	case malformed:
		return topology.New(bad.Cluster), true, nil
	case !missing:
		return topology.Cluster{}, false, err
	}
	return topology.New(&v1alpha1.TidbCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name},
		Spec: v1alpha1.TidbClusterSpec{
			Cluster: joins, ClusterDomain: domain, TLSCluster: &v1alpha1.TLSCluster{Enabled: true},
			TiDB: &v1alpha1.TiDBSpec{TLSClient: &v1alpha1.TiDBTLSClient{Enabled: true}},
		},
	}), false, nil
}
