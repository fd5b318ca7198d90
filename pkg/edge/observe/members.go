package observe

import (
	"context"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// askMembers asks members of PD themselves where PD's leader and Kubernetes do not
// both say that they serve: the leader may have missed a ping, and a probe may be
// wrong.
func (o *Observer) askMembers(ctx context.Context, c topology.Cluster, members []state.Member) {
	each(ctx, members, func(ctx context.Context, m *state.Member) {
		if m.Database.Presence != state.Present || m.Up() || !runs(m) {
			return
		}
		m.Database.Answer = answerOf(pd.Ping(ctx, o.http, c.MemberURL(m.Kind, m.Ordinal, topology.PDClientPort)))
	})
	if slices.ContainsFunc(members, missed) {
		o.askRaft(ctx, c, members)
	}
}

// missed reports whether PD's health check does not reach a member that answers.
func missed(m state.Member) bool { return !m.Database.Healthy && m.Database.Answer == state.Answered }

// askRaft asks the members that PD's health check does not reach, and PD's leader, for their parts in
// PD's quorum. The check may miss a member for as long as another one has the old address of its pod.
func (o *Observer) askRaft(ctx context.Context, c topology.Cluster, members []state.Member) {
	leader := slices.IndexFunc(members, func(m state.Member) bool { return m.Database.Leader && runs(&m) })
	if leader < 0 {
		return
	}
	ask := func(ctx context.Context, m *state.Member) (pd.Raft, error) {
		return pd.AskRaft(ctx, o.http, c.MemberURL(m.Kind, m.Ordinal, topology.PDClientPort))
	}
	first, cancel := context.WithTimeout(ctx, readTimeout)
	leads, err := ask(first, &members[leader])
	cancel()
	if err != nil || leads.Member != members[leader].Database.ID { // its address may be that of another one by now
		return
	}
	each(ctx, members, func(ctx context.Context, m *state.Member) {
		if !missed(*m) {
			return
		}
		if own, err := ask(ctx, m); err == nil && takesPart(m.Database.ID, own, leads) {
			m.Database.Healthy, m.Database.Problem, m.Database.Since = true, "", time.Time{}
		}
	})
}

// takesPart reports whether a member takes part in PD's quorum: it follows the same leader as that one
// says, and has applied what was committed before it was asked. One that lags could not replace another.
func takesPart(id uint64, own, leads pd.Raft) bool {
	return own.Member == id && own.Leader != 0 && own.Leader == leads.Leader && own.Applied >= leads.Committed
}

// counted returns how many members serve by their own account only, so that PD's count is without them.
func (d database) counted(members []state.Member) int {
	n := 0
	for _, m := range members {
		if m.Database.Healthy && !d.listed[m.Kind][m.Ordinal].Healthy {
			n++
		}
	}
	return n
}
