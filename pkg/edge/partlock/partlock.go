// Package partlock makes sure that only one part of a database takes members away at a time. A database can have
// several parts, which are TidbClusters with a driver each. Each driver asks PD before a member is taken away, but two
// drivers that ask at the same moment would see the same members serve.
//
// The lock is in PD's etcd, which all parts reach. Where PD has no quorum there is no lock. Only members that are known
// not to serve are restarted then (plan.Plan.NeedsLock). tidb-operator does not know the lock.
package partlock

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
)

const (
	// lasts is after what time without a renewal PD deletes the lock. PD calls a store Up for 20 s after the store has ended.
	// So other parts see a store that a driver has restarted before the driver was killed.
	lasts = 90 * time.Second
	// margin is how long before that the holder stops to use the lock.
	margin = 10 * time.Second
)

// Lock is the lock of one part. It is not safe for concurrent use, but Guard is.
type Lock struct {
	pd   func() pd.Client // nil before PD was found
	self pd.Lock
	now  func() time.Time // by our own clock

	id      string
	held    bool
	renewed time.Time
	from    pd.Client // of which the lock was taken
	away    []plan.Away
}

// New returns the lock of a part, which nobody holds yet. holder says who drives the part.
func New(client func() pd.Client, c topology.Cluster, holder string) *Lock {
	return &Lock{pd: client, now: time.Now, self: pd.Lock{UID: string(c.UID), Part: c.Namespace + "/" + c.Name, Holder: holder}}
}

// Held implements reconcile.Parts.
func (l *Lock) Held() bool { return l.held }

// Note implements reconcile.Parts.
func (l *Lock) Note(away []plan.Away) { l.away = append(l.away, away...) }

// Away implements reconcile.Parts.
func (l *Lock) Away() []plan.Away { return l.away }

// Take implements reconcile.Parts.
func (l *Lock) Take(ctx context.Context) (had bool, err error) {
	client := l.pd()
	if client == nil || l.self.UID == "" {
		return false, errors.New("PD was not found, whose lock is needed to take a member away")
	}
	begun := l.now()
	if l.held && l.timeLeft() > 0 {
		err := client.RenewLock(ctx, l.id, l.self.Nonce)
		if err == nil {
			l.renewed = begun
			return true, nil
		}
		if !errors.Is(err, pd.ErrLockLost) {
			return false, err
		}
	}
	l.held, l.self.Nonce = false, rand.Text()
	self := l.self
	self.Since = begun
	id, err := client.TakeLock(ctx, self, lasts)
	if _, locked := errors.AsType[*pd.LockedError](err); locked {
		return false, nil // the next observation says which part that is
	}
	if err != nil {
		return false, err
	}
	l.id, l.from, l.held, l.renewed = id, client, true, begun
	return false, nil
}

// timeLeft returns how long the lock may still be used.
func (l *Lock) timeLeft() time.Duration { return lasts - margin - lease.Elapsed(l.renewed, l.now()) }

// Release implements reconcile.Parts. PD deletes a lock whose release fails.
func (l *Lock) Release(ctx context.Context) {
	if l.held {
		_ = l.from.ReleaseLock(ctx, l.id)
	}
	l.held, l.away = false, nil
}

// Guard implements reconcile.Parts.
func (l *Lock) Guard(ctx context.Context) (context.Context, context.CancelFunc) {
	if !l.held {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, max(l.timeLeft(), 0), pd.ErrLockLost)
}
