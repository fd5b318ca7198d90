// Package pvc is the verb that shows the claims of clusters, and deletes claims that nothing keeps.
package pvc

import (
	"context"
	"errors"
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/parent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/status"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/claim"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
)

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return parent.New(&cobra.Command{
		Use:   "pvc list|prune",
		Short: "Show the claims of clusters, and delete left-over ones",
		Long: `Show the claims of clusters, and delete left-over ones.

"list" shows each claim with its member, and what keeps it. "prune" deletes claims that
nothing keeps, with the data in them.`,
		SuggestFor: []string{"claims", "volumes", "storage"},
	}, newList(f), newPrune(f))
}

// stub is a cluster of which only the name is known.
func stub(namespace, name string) topology.Cluster {
	return topology.New(&v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
}

// ofCluster reads the claims of one cluster, which may be gone. The error is the error of the missing
// TidbCluster where it has no claims either. Before claims are deleted, all StatefulSets have to be known, also those
// without pods.
func ofCluster(ctx context.Context, f *factory.Factory, s *target.Session, deletes bool) (all []claim.Claim, gone bool, err error) {
	seen, err := status.Look(ctx, s, f.Context())
	missing, gone := errors.AsType[*intent.NotFoundError](err)
	if err != nil && !gone {
		return nil, false, err
	}
	claims, pods, err := observe.Claims(ctx, s.Kube, s.Namespace)
	if err != nil {
		return nil, gone, err
	}
	if !gone {
		return claim.Of(seen.Wanted, seen.Snapshot, claims, pods), false, nil
	}
	sets, err := observe.Sets(ctx, s.Kube, s.Namespace, deletes || observe.HasAdvanced(pods))
	if err != nil {
		return nil, gone, err
	}
	if all = claim.OfGone(stub(s.Namespace, s.Name), sets, claims, pods); len(all) == 0 {
		return nil, true, missing
	}
	return all, true, nil
}

// ofAll reads the claims of all clusters that the flags find. It also reads those of clusters that are gone, of
// which only claims are left. A cluster that cannot be read must not hide the others.
func ofAll(ctx context.Context, f *factory.Factory, o target.Found) ([]claim.Claim, error) {
	namespace, clusters, failed := o.List(ctx, f)
	if failed != nil && len(clusters) == 0 {
		return nil, failed
	}
	kube, err := f.Kube()
	if err != nil {
		return nil, err
	}
	claims, pods, err := observe.Claims(ctx, kube, namespace)
	if err != nil {
		return nil, err
	}
	var all []claim.Claim
	for i := range clusters {
		c := topology.New(&clusters[i])
		own := claimsOf(claims, c.Namespace, c.Instance)
		if len(own) == 0 {
			continue
		}
		got, err := judged(ctx, f, c, own, pods)
		all, failed = append(all, got...), errors.Join(failed, err)
	}
	if o.Selector == "" { // a cluster that is gone has no labels
		sets, err := observe.Sets(ctx, kube, namespace, observe.HasAdvanced(pods))
		if err != nil {
			return all, errors.Join(failed, err)
		}
		all = append(all, orphans(clusters, sets, claims, pods)...)
	}
	return all, failed
}

func judged(ctx context.Context, f *factory.Factory, c topology.Cluster, claims []corev1.PersistentVolumeClaim, pods []corev1.Pod) ([]claim.Claim, error) {
	s, err := target.Connect(f, c.Namespace, c.Name)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	seen, err := status.Look(ctx, s, f.Context())
	if err != nil {
		return nil, err
	}
	return claim.Of(seen.Wanted, seen.Snapshot, claims, pods), nil
}

// claimsOf returns the claims with the labels of a cluster.
func claimsOf(claims []corev1.PersistentVolumeClaim, namespace, instance string) []corev1.PersistentVolumeClaim {
	return slices.DeleteFunc(slices.Clone(claims), func(c corev1.PersistentVolumeClaim) bool {
		return c.Namespace != namespace || c.Labels[topology.LabelInstance] != instance
	})
}

// orphans returns the claims of clusters that are gone.
func orphans(clusters []v1alpha1.TidbCluster, sets []appsv1.StatefulSet, claims []corev1.PersistentVolumeClaim, pods []corev1.Pod) []claim.Claim {
	type instance struct{ namespace, name string }
	there := map[instance]bool{}
	for i := range clusters {
		c := topology.New(&clusters[i])
		there[instance{c.Namespace, c.Instance}] = true
	}
	var all []claim.Claim
	for _, c := range claims {
		at := instance{c.Namespace, c.Labels[topology.LabelInstance]}
		if !there[at] {
			there[at] = true
			all = append(all, claim.OfGone(stub(at.namespace, at.name), sets, claimsOf(claims, at.namespace, at.name), pods)...)
		}
	}
	return all
}
