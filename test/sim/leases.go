package sim

import (
	"context"
	"errors"
	"strconv"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
)

var leaseResource = schema.GroupResource{Group: coordinationv1.GroupName, Resource: "leases"}

// api is the API server as a process meets it, as far as leases go. It checks versions, turns
// requests down, loses answers, and is away for a while. A call of anything else panics.
type api struct {
	kubernetes.Interface
	typed.CoordinationV1Interface
	typed.LeaseInterface
	w *Model
	d *driver // whose requests these are
}

func (a api) CoordinationV1() typed.CoordinationV1Interface { return a }
func (a api) Leases(string) typed.LeaseInterface            { return a }

// Get implements typed.LeaseInterface.
func (a api) Get(context.Context, string, metav1.GetOptions) (*coordinationv1.Lease, error) {
	if err := a.w.request(a.d); err != nil {
		return nil, err
	}
	if a.w.leaseObject == nil {
		return nil, apierrors.NewNotFound(leaseResource, a.w.cluster.LeaseName())
	}
	return a.w.leaseObject.DeepCopy(), nil
}

// Create implements typed.LeaseInterface.
func (a api) Create(_ context.Context, l *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	if err := a.w.request(a.d); err != nil {
		return nil, err
	}
	if a.w.leaseObject != nil {
		return nil, apierrors.NewAlreadyExists(leaseResource, l.Name)
	}
	return a.write(l)
}

// Update implements typed.LeaseInterface.
func (a api) Update(_ context.Context, l *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	switch err := a.w.request(a.d); {
	case err != nil:
		return nil, err
	case a.w.leaseObject == nil:
		return nil, apierrors.NewNotFound(leaseResource, l.Name)
	case a.w.leaseObject.ResourceVersion != l.ResourceVersion:
		return nil, apierrors.NewConflict(leaseResource, l.Name, errors.New("it was written meanwhile"))
	}
	return a.write(l)
}

func (a api) write(l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	w := a.w
	w.writes++
	if before, after := holder(w.leaseObject), holder(l); before != after {
		w.note("the lease goes from %q to %q", before, after)
	}
	w.leaseObject = l.DeepCopy()
	w.leaseObject.UID, w.leaseObject.ResourceVersion = "lease", strconv.Itoa(w.writes)
	if w.chance(w.Faults.LostAnswer) {
		return nil, errLost
	}
	return w.leaseObject.DeepCopy(), nil
}

// holder returns the process that a Lease names, "" for none.
func holder(l *coordinationv1.Lease) string {
	if l == nil || l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// request is what becomes of a request of a process to the API server.
func (w *Model) request(d *driver) error {
	switch {
	case d.dead:
		return errKilled
	case w.t < w.away:
		return apierrors.NewServiceUnavailable("injected: the API server is away")
	case w.chance(w.Faults.Refuse):
		if w.rng.IntN(2) == 0 {
			return apierrors.NewTooManyRequests("injected: later", 1)
		}
		return apierrors.NewInternalError(errors.New("injected"))
	}
	return nil
}

// holding is a lease that a driver has, or had.
type holding struct {
	self lease.Identity
	held *lease.Held
	due  int64 // when it is to be renewed next
}

// bid is a driver's attempt to get the lease. The bid has a clock that may differ from that of any
// other bid by hours.
func (w *Model) bid(d *driver) *lease.Bid {
	return lease.NewBid(api{w: w, d: d}, w.cluster, d.lease.self).Stepped(d.now(w))
}

// took has a lease renewed from now on.
func (w *Model) took(d *driver, held *lease.Held) {
	d.lease.held, d.lease.due = held, w.t+int64(held.FirstTick().Seconds())
}

// renew does for the leases what is due, in processes that run.
func (w *Model) renew() {
	for _, d := range w.drivers {
		l := d.lease
		if l == nil || l.held == nil || d.dead || w.t < l.due || w.t < d.frozen {
			continue
		}
		pause := l.held.Tick()
		l.due = never
		if pause > 0 {
			l.due = w.t + int64(pause.Seconds())
		}
		// A lease that was released because there was nothing to do wakes no daemon.
		if ctx := l.held.Context(); ctx.Err() != nil && !errors.Is(context.Cause(ctx), lease.ErrIdle) && d.asleep {
			d.wake = min(d.wake, w.t+1)
		}
	}
}

// judgeLease checks that a process that writes has the lease, by the truth.
func (w *Model) judgeLease(say sayer) {
	if l := w.lease; l != nil && !w.nap.woke && holder(w.leaseObject) != l.self.String() {
		say("drivers", "the lease is that of %q, not of %q", holder(w.leaseObject), l.self)
	}
}
