package act

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/voters"
)

// pdAnswers is how long PD may take to say whether it can spare a member.
const pdAnswers = 10 * time.Second

// quorumSpares returns an error if PD would lose its quorum by the restart of a member, by what PD's members say now.
// PD keeps its quorum if enough other members serve, or if the member to restart does not run. The members are asked
// because the observation may be old, and because a PD that this process cannot reach may serve everybody else. A
// restart may have been decided because the member follows no leader. Then the member must still follow no leader.
// Such a restart has waited neither for other members of PD nor for a move of the leader.
func (a *Actor) quorumSpares(ctx context.Context, s step.Restart, pod *corev1.Pod) error {
	if s.Component.Data() != topology.Raft {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pdAnswers)
	defer cancel()
	client := a.pd()
	read := voters.Live(client, a.kube, a.cluster, a.now)
	if client == nil {
		return a.idle(ctx, s, read, pod, nil, nil)
	}
	say, err := read.Read(ctx)
	switch {
	case s.Leaderless && err == nil && say.Committed() > s.Committed:
		return stale("PD", "has had a leader since")
	case s.Leaderless && err == nil && (say.Leaderless() || slices.Contains(say.Unled(), s.Member)):
		return nil
	case s.Leaderless:
	case err == nil && say.Spares(s.Member):
		return nil
	// A member that has restarted a moment ago has an answer of PD's leader before one of its own, or the reverse.
	case a.healthyWithout(ctx, client, s.Member):
		return nil
	}
	return a.idle(ctx, s, read, pod, say, err)
}

// idle returns an error if the member may serve. err is the error of a read that no member has answered, nil if a
// member has answered.
func (a *Actor) idle(ctx context.Context, s step.Restart, read voters.Reader, pod *corev1.Pod, say state.Voters, err error) error {
	v, listed := say.Of(s.Member)
	switch {
	case listed && v.Answered && v.Follows != "" && s.Leaderless:
		return stale("PD", "has a leader now, and %s follows the leader", s.Member)
	case listed && v.Answered && v.Follows != "":
		return stale("PD", "would have no quorum without %s", s.Member)
	case v.Stopped || voters.Refused(err, a.cluster, s.Ordinal) || !v.Answered && read.Stopped(ctx, pod):
		return nil
	case err != nil:
		return stale("PD", "cannot be asked whether it has a quorum without %s", s.Member)
	}
	return stale("PD", "does not say that it has a quorum without %s", s.Member)
}

// healthyWithout reports whether PD's leader says that enough other members are healthy. A PD of one or two loses its
// quorum with any restart.
func (a *Actor) healthyWithout(ctx context.Context, client pd.Client, pod string) bool {
	members, err := client.Members(ctx)
	if err != nil || members.Leader == nil {
		return false
	}
	if len(members.Members) <= 2 {
		return true
	}
	health, err := client.Health(ctx)
	if err != nil {
		return false
	}
	left := 0
	for _, m := range members.Members {
		if !a.isMember(pod, m) && healthy(health, m.ID) {
			left++
		}
	}
	return left >= len(members.Members)/2+1
}
