// Package partlock makes sure that only one part of a database takes members away at a time. A database can have
// several parts: TidbClusters in several namespaces or Kubernetes clusters, each with a driver of its own. Each driver
// asks PD before it takes a member away, but two that ask at the same moment would see the same members serve.
//
// The lock is in PD's etcd, which all parts reach. Where PD has no quorum there is no lock. Only members that are known
// not to serve are restarted then (plan.Plan.NeedsLock). tidb-operator does not know the lock.
package partlock

import (
	"context"
	"errors"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

const (
	// lasts is after what time without a renewal PD deletes the lock. PD calls a store that has ended Up for 20 s more, so
	// that other parts see a store that a driver has restarted before it was killed.
	lasts = 90 * time.Second
	// margin is how long before that the holder stops to use the lock.
	margin = 10 * time.Second
	// renewEvery is how often it is renewed. A turn comes at least every half minute.
	renewEvery = 15 * time.Second
)

// Lock is the lock of one part. It is not safe for concurrent use, but Guard is.
type Lock struct {
	pd   func() pd.Client // nil before PD was found
	self pd.Lock
	now  func() time.Time

	id             string
	since, renewed time.Time
	from           pd.Client // of which the lock was taken
}

// New returns the lock of a part, which nobody holds yet. holder says who drives the part.
func New(client func() pd.Client, c topology.Cluster, holder string, now func() time.Time) *Lock {
	return &Lock{pd: client, now: now, self: pd.Lock{UID: string(c.UID), Part: c.Namespace + "/" + c.Name, Holder: holder}}
}

// Held implements reconcile.Parts.
func (l *Lock) Held() time.Time { return l.since }

// Take implements reconcile.Parts.
func (l *Lock) Take(ctx context.Context) (had bool, err error) {
	client := l.pd()
	if client == nil {
		return false, errors.New("PD was not found, whose lock is needed to take a member away")
	}
	begun := l.now()
	if !l.since.IsZero() && l.left() > 0 {
		if begun.Sub(l.renewed) < renewEvery {
			return true, nil
		}
		err := client.RenewLock(ctx, l.id)
		if err == nil {
			l.renewed = begun
		}
		if !errors.Is(err, pd.ErrLockLost) {
			return err == nil, err
		}
	}
	l.since = time.Time{}
	self := l.self
	self.Since = begun
	id, err := client.TakeLock(ctx, self, lasts)
	if _, locked := errors.AsType[*pd.LockedError](err); locked {
		return false, nil // the next observation says which part that is
	}
	if err != nil {
		return false, err
	}
	l.id, l.from, l.since, l.renewed = id, client, begun, begun
	return false, nil
}

// left is how long the lock may still be used.
func (l *Lock) left() time.Duration { return lasts - margin - l.now().Sub(l.renewed) }

// Release implements reconcile.Parts. PD deletes a lock whose release fails.
func (l *Lock) Release(ctx context.Context) {
	if l.since.IsZero() {
		return
	}
	_ = l.from.ReleaseLock(ctx, l.id)
	l.since = time.Time{}
}

// Guard implements reconcile.Parts.
func (l *Lock) Guard(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.since.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, max(l.left(), 0), pd.ErrLockLost)
}
