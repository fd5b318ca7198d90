package lease

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// hear notes what came of a record that we wrote. Without an answer the lease may
// be ours all the same.
func (cl *claim) hear(wrote *coordinationv1.Lease, err error) {
	cl.asked = nil
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
		cl.asked = wrote
	}
}

// unheard tells whether a record is what we wrote without hearing of it.
func (cl *claim) unheard(live *coordinationv1.Lease) bool {
	if cl.asked == nil {
		return false
	}
	x, y := holderOf(cl.asked), holderOf(live)
	return x.Identity == y.Identity && x.Since.Equal(y.Since) && x.Renewed.Equal(y.Renewed)
}

// Withdraw gives back what Try may have got although it failed, since the answer was
// lost. Without that, who does not try again would be named as the driver for ever.
func (b *Bid) Withdraw(ctx context.Context) error {
	cl := &b.claim
	if cl.asked == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	live, err := cl.leases.Get(ctx, cl.cluster.LeaseName(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return cl.wrap("get", err)
	}
	if err == nil && cl.unheard(live) {
		vacate(&live.Spec)
		if _, err := cl.leases.Update(ctx, live, metav1.UpdateOptions{}); err != nil {
			return cl.wrap("update", err)
		}
	}
	cl.asked = nil
	return nil
}

// vacate leaves a record without a holder.
func vacate(s *coordinationv1.LeaseSpec) {
	s.HolderIdentity, s.AcquireTime, s.RenewTime = nil, nil, nil
}
