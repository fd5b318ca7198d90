package observe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/dial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// atOnce bounds the connections opened at the same time in a big cluster.
const atOnce = 16

// askMembers asks members of PD themselves where PD's leader and Kubernetes do not
// agree that they serve: the leader may have missed a ping, a probe may be wrong.
func (o *Observer) askMembers(ctx context.Context, c topology.Cluster, members []state.Member) {
	each(ctx, members, func(ctx context.Context, m *state.Member) {
		if m.Database.Presence != state.Present || m.Up() || !runs(m) {
			return
		}
		url := fmt.Sprintf("http://%s:%d", c.PodHost(m.Kind, m.Ordinal), topology.PDClientPort)
		m.Database.Answer = answerOf(pd.Ping(ctx, o.http, url))
	})
}

// askStores asks stores that are being evicted how many leaders they have. PD's
// number is as old as the last heartbeat, up to ten seconds: with it an eviction
// would take that much longer, or a store be restarted with leaders that it got
// since. In a long eviction it asks them less often while PD's number stands still.
//
// It also asks stores that PD takes for Up on the word of a process that has
// been replaced since. Only a process that has opened its regions counts them,
// so the answer proves that it serves. And it asks those that PD does not hear
// from, or Kubernetes calls NotReady: PD may have a new leader, which has yet to hear
// from anybody, and a probe may be wrong.
func (o *Observer) askStores(ctx context.Context, c topology.Cluster, members []state.Member) {
	each(ctx, members, func(ctx context.Context, m *state.Member) {
		d := &m.Database
		unproven := d.State == state.StoreUp && !d.Healthy
		silent := d.State == state.StoreDisconnected || d.State == state.StoreDown
		unready := d.Healthy && m.Pod != nil && !m.Pod.Ready
		doubtful := unproven || silent || unready
		if !d.Evicting {
			o.leaders.forget(d.ID)
		}
		if !d.Evicting && !doubtful || !runs(m) {
			return
		}
		byPD := d.Leaders
		if own, ask := o.leaders.again(d.ID, byPD, o.now()); !ask && !doubtful && o.history.settled(o.now()) {
			d.Leaders = own
			return
		}
		n, err := o.tikv.Counts(ctx, c.PodHost(m.Kind, m.Ordinal))
		d.Answer = answerOf(err)
		if err != nil {
			// PD counts the leaders of a store whose process is not there: others
			// lead its regions by now.
			if !silent || d.Answer != state.Refused {
				d.Leaders = -1
			}
			return
		}
		d.Leaders, d.Regions = n.Leaders, n.Regions
		if d.Evicting {
			o.leaders.note(d.ID, byPD, n.Leaders, o.now())
		}
		if unproven && n.Regions > 0 {
			d.Healthy, d.Problem, d.Since = true, "", time.Time{}
		}
		if silent {
			d.Problem = "PD has not heard from the store, but the store itself answers"
		}
	})
}

// askServers asks each TiDB server whether it serves.
func (o *Observer) askServers(ctx context.Context, c topology.Cluster, members []state.Member) {
	each(ctx, members, func(ctx context.Context, m *state.Member) {
		if !runs(m) {
			return
		}
		healthy, err := o.tidb.Healthy(ctx, c.PodHost(m.Kind, m.Ordinal))
		d := &m.Database
		switch d.Answer = answerOf(err); {
		case d.Answer == state.Refused:
			d.Presence, d.Problem = state.Present, "status port refuses connections"
		case err != nil:
			d.Problem = "status port could not be asked: " + err.Error()
		case !healthy:
			d.Presence, d.Answer, d.Problem = state.Present, state.Refused, "status port reports an error"
		default:
			d.Presence, d.Healthy = state.Present, true
		}
	})
}

// runs reports whether a member has a process to be asked, as far as is known.
func runs(m *state.Member) bool {
	return m.Pod != nil && !m.Pod.Started.IsZero()
}

// answerOf is what the error of a request to a member itself shows. A connection
// that the pod refuses shows that nothing listens. A failed tunnel or a timeout
// shows nothing.
func answerOf(err error) state.Answer {
	switch {
	case err == nil:
		return state.Answered
	case errors.Is(err, dial.Refused):
		return state.Refused
	}
	return state.NoAnswer
}

// each works on all members at once. What fails is left unknown.
func each(ctx context.Context, members []state.Member, f func(context.Context, *state.Member)) {
	var all errgroup.Group
	all.SetLimit(atOnce)
	for i := range members {
		all.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, readTimeout)
			defer cancel()
			f(ctx, &members[i])
			return nil
		})
	}
	_ = all.Wait()
}
