package lease

import (
	"context"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// noteAnswer records how a write of the Lease ended. Without an answer the lease may still be ours, also by an
// earlier write. Only a write that succeeds shows that none of the earlier writes counts any more.
func (cl *candidate) noteAnswer(wrote *coordinationv1.Lease, err error) {
	switch {
	case err == nil:
		cl.unanswered = nil
	case !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err):
		cl.unanswered = append(cl.unanswered, wrote)
	}
}

// wroteUnanswered reports whether a record is one that we wrote without getting an answer.
func (cl *candidate) wroteUnanswered(live *coordinationv1.Lease) bool {
	y := holderOf(live)
	return slices.ContainsFunc(cl.unanswered, func(wrote *coordinationv1.Lease) bool {
		x := holderOf(wrote)
		return x.Identity == y.Identity && x.Since.Equal(y.Since) && x.Renewed.Equal(y.Renewed)
	})
}

// Withdraw releases a lease that Try has taken without getting the answer. Otherwise the Lease
// would name a caller that does not try again as the driver for ever.
func (b *Bid) Withdraw(ctx context.Context) error {
	cl := &b.candidate
	if len(cl.unanswered) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	live, err := cl.leases.Get(ctx, cl.cluster.LeaseName(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return cl.wrap("get", err)
	}
	if err == nil && cl.wroteUnanswered(live) {
		clearHolder(&live.Spec)
		if _, err := cl.leases.Update(ctx, live, metav1.UpdateOptions{}); err != nil {
			return cl.wrap("update", err)
		}
	}
	cl.unanswered = nil
	return nil
}

// clearHolder removes the holder from a record.
func clearHolder(s *coordinationv1.LeaseSpec) {
	s.HolderIdentity, s.AcquireTime, s.RenewTime = nil, nil, nil
}
