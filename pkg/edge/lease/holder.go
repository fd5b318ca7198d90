package lease

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// ErrLost is the cause with which the context of a Held ends when the lease is
// lost.
var ErrLost error = lost{}

type lost struct{}

func (lost) Error() string { return "lost the lease of the cluster" }

// HandsOff implements reconcile.HandsOff: another driver may already change the
// cluster, so that nothing must be undone any more. Unfinished changes are recorded
// in the cluster, and the other driver completes them.
func (lost) HandsOff() bool { return true }

// Holder is the process that a Lease names as its holder. It may be dead.
type Holder struct {
	Identity string // "" when no process holds it
	Since    time.Time
	Renewed  time.Time // by the holder's clock
}

func holderOf(l *coordinationv1.Lease) Holder {
	var h Holder
	if l.Spec.HolderIdentity != nil {
		h.Identity = *l.Spec.HolderIdentity
	}
	if l.Spec.AcquireTime != nil {
		h.Since = l.Spec.AcquireTime.Time
	}
	if l.Spec.RenewTime != nil {
		h.Renewed = l.Spec.RenewTime.Time
	}
	return h
}

// Equal reports whether two reads of a Lease show the same record. Where they do not, the holder has written the
// Lease in between, and is alive.
func (h Holder) Equal(o Holder) bool {
	return h.Identity == o.Identity && h.Since.Equal(o.Since) && h.Renewed.Equal(o.Renewed)
}

// Dead reports whether the holder is known to be dead. Such a holder ran on this machine, and there is no such
// process any more. One that is not known to be dead may be dead all the same.
func (h Holder) Dead() bool { return Self().knowsDead(h.Identity) }

// Describe returns a name of the holder for a person.
func (h Holder) Describe() string {
	if i, ok := Parse(h.Identity); ok {
		return i.Describe()
	}
	return h.Identity
}

// HeldError reports that another process drives the cluster.
type HeldError struct {
	// Alive is true if we saw it renew or take the lease.
	Alive bool

	Namespace, Name string // the cluster's
	Holder          Holder
	// Age is how long ago the holder renewed, by our clock against its own.
	Age time.Duration
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("cluster %s/%s is driven by %s since %s",
		e.Namespace, e.Name, e.Holder.Describe(), e.Holder.Since.Format(time.RFC3339))
}

// ReadHolder returns at once the holder that the Lease names. That process may be
// dead; Acquire finds that out.
func ReadHolder(ctx context.Context, kube kubernetes.Interface, c topology.Cluster) (Holder, error) {
	l, err := kube.CoordinationV1().Leases(c.Namespace).Get(ctx, c.LeaseName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return Holder{}, nil
	case err != nil:
		return Holder{}, fmt.Errorf("get lease %s/%s: %w", c.Namespace, c.LeaseName(), err)
	}
	return holderOf(l), nil
}
