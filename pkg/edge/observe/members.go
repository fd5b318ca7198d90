package observe

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// askMembers asks members of PD themselves where PD's leader and Kubernetes do not both say that they serve. The
// leader may have missed a ping, and a probe may be wrong. Members that do not run by an old report of their kubelet
// are asked, too.
func (o *Observer) askMembers(ctx context.Context, c topology.Cluster, members []state.Member) {
	o.each(ctx, members, func(ctx context.Context, m *state.Member) {
		switch {
		case !runs(m) || m.Up():
			return
		case m.Database.Presence == state.Absent:
			o.askUnlistedMember(ctx, c, m)
			return
		case m.Database.Presence == state.Unknown && !m.Pod.Started.IsZero():
			return // PD is asked as a whole: see base
		}
		m.Database.Answer = answerOf(pd.Ping(ctx, o.http, c.MemberURL(m.Kind, m.Ordinal, topology.PDClientPort)))
	})
	if slices.ContainsFunc(members, missed) {
		o.askRaft(ctx, c, members)
	}
}

const (
	// addressKept is how long after a pod of PD was made the other members may still have the address of the pod
	// before. Cluster DNS is cached for 30 s.
	addressKept = time.Minute
	// newTimeout bounds for that time what may hang. PD's health check waits three seconds for an address that is
	// not in use any more. A port-forward to a container that is just starting may never open. What takes longer is
	// asked again in the next observation.
	newTimeout = time.Second
)

// isNew reports whether a pod was made a short while ago.
func (o *Observer) isNew(made time.Time) bool { return o.now().Sub(made) < addressKept }

// renewed reports whether one of the pods was made a short while ago.
func (o *Observer) renewed(pods map[int]*corev1.Pod) bool {
	for _, p := range pods {
		if o.isNew(p.CreationTimestamp.Time) {
			return true
		}
	}
	return false
}

// health asks PD's leader which members it reaches. A check that hangs after a pod was renewed is
// unasked: it says nothing about any member.
func health(ctx context.Context, client pd.Client, renewed bool) (list []pd.MemberHealth, unasked bool, err error) {
	short, cancel := ctx, context.CancelFunc(func() {})
	if renewed {
		short, cancel = context.WithTimeout(ctx, newTimeout)
	}
	defer cancel()
	list, err = client.Health(short)
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		return nil, true, nil
	}
	return list, false, err
}

func (a answers) healthy(m pd.Member) bool {
	return slices.ContainsFunc(a.health, func(h pd.MemberHealth) bool { return h.ID == m.ID && h.Healthy })
}

// servingPod returns a pod whose member of PD is healthy, for commands that a person runs in it. It returns the
// first pod where no member is healthy.
func (a answers) servingPod(c topology.Cluster) string {
	for _, m := range a.members.Members {
		if n, ok := owner(c.PDPart(), topology.PD, slices.Concat(m.PeerURLs, m.ClientURLs)...); ok && a.healthy(m) {
			return c.PDPart().PodName(topology.PD, n)
		}
	}
	return c.PDPart().PodName(topology.PD, 0)
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
	if err != nil || leads.Member != members[leader].Database.ID { // another member may have its address now
		return
	}
	o.each(ctx, members, func(ctx context.Context, m *state.Member) {
		if !missed(*m) {
			return
		}
		if own, err := ask(ctx, m); err == nil && takesPart(m.Database.ID, own, leads) {
			m.Database.Healthy, m.Database.Problem, m.Database.Since = true, "", time.Time{}
		}
	})
}

// takesPart reports whether a member takes part in PD's quorum. Such a member follows the leader that PD's leader
// names, and has applied what was committed before the member was asked. A member that lags could not replace
// another.
func takesPart(id uint64, own, leads pd.Raft) bool {
	return own.Member == id && own.Leader != 0 && own.Leader == leads.Leader && own.Applied >= leads.Committed
}

// servingByOwnAccount returns how many members serve by their own account only, so that PD's count is without them.
func (d database) servingByOwnAccount(members []state.Member) int {
	n := 0
	for _, m := range members {
		if m.Database.Healthy && !d.listed[m.Kind][m.Ordinal].Healthy {
			n++
		}
	}
	return n
}
