package lease

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// askedBy is the annotation of a Lease that names a process which asks for it. The
// holder sees it at its next renewal, which is a conflict since the version has
// changed.
const askedBy = "kubectl-tidb/asked-by"

// AskedError is the cause with which the context of a Held ends when another
// process has asked for the lease.
type AskedError struct{ By Holder }

func (e *AskedError) Error() string {
	return e.By.Describe() + " has asked for the lease of the cluster"
}

func isAsked(err error) bool {
	_, ok := errors.AsType[*AskedError](err)
	return ok
}

// Ask asks the holder of the cluster's Lease to release it. A daemon does so at its
// next safe point, within some seconds; a foreground command does not.
func Ask(ctx context.Context, kube kubernetes.Interface, c topology.Cluster, self Identity) error {
	cl := candidate{leases: kube.CoordinationV1().Leases(c.Namespace), cluster: c}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error { // it may be renewed in between
		live, err := cl.leases.Get(ctx, c.LeaseName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return cl.wrap("get", err)
		}
		metav1.SetMetaDataAnnotation(&live.ObjectMeta, askedBy, self.String())
		_, err = cl.leases.Update(ctx, live, metav1.UpdateOptions{})
		return cl.wrap("update", err)
	})
}
