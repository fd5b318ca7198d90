package observe

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// patience is how long members of new pods may take to answer, by the UID of the pod. It is safe for concurrent use.
type patience struct {
	mu sync.Mutex
	of map[string]time.Duration
}

// limit returns how long a member may take to answer. That is newTimeout where its pod is new, and twice as long
// after each time that this was not enough, up to readTimeout. Otherwise a member of a slow host would stay unknown
// as long as its pod is new.
func (p *patience) limit(m *state.Member, isNew bool) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !isNew {
		if m.Pod != nil {
			delete(p.of, m.Pod.UID)
		}
		return readTimeout
	}
	return min(max(p.of[m.Pod.UID], newTimeout), readTimeout)
}

// note notes whether a member has answered within a limit.
func (p *patience) note(m *state.Member, limit time.Duration, answered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if answered || limit >= readTimeout {
		return
	}
	if p.of == nil {
		p.of = map[string]time.Duration{}
	}
	p.of[m.Pod.UID] = 2 * limit
}

// each calls f for all members at the same time, with a limit of time for each. A member for which f fails stays
// unknown.
func (o *Observer) each(ctx context.Context, members []state.Member, f func(context.Context, *state.Member)) {
	var all errgroup.Group
	all.SetLimit(atOnce)
	for i := range members {
		all.Go(func() error {
			m := &members[i]
			limit := o.patience.limit(m, m.Pod != nil && o.isNew(m.Pod.Made))
			if o.glances && m.Pod != nil && m.Pod.NodeLost() {
				limit = newTimeout
			}
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			f(ctx, m)
			o.patience.note(m, limit, !errors.Is(ctx.Err(), context.DeadlineExceeded))
			return nil
		})
	}
	_ = all.Wait()
}
