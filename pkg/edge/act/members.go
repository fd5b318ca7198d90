package act

import (
	"context"
	"errors"
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/voters"
)

func (a *Actor) moveLeader(ctx context.Context, s step.MoveLeader) error {
	client, err := a.database()
	if err != nil {
		return err
	}
	members, err := client.Members(ctx)
	if err != nil {
		return fmt.Errorf("read PD members: %w", err)
	}
	switch {
	case members.Leader == nil:
		return stale("PD", "has no leader")
	case members.Leader.Name == s.ToName:
		return nil
	case members.Leader.Name != s.FromName:
		return stale("PD", "is led by %s, not by %s any more", members.Leader.Name, s.FromName)
	case members.ByName(s.ToName) == nil:
		return stale("PD", "has no member %s any more", s.ToName)
	}
	health, err := client.Health(ctx)
	if err != nil {
		return fmt.Errorf("read health of PD members: %w", err)
	}
	if to := members.ByName(s.ToName); !healthy(health, to.ID) {
		// It would soon lose the leadership, and PD would have no leader for a
		// while.
		return stale("PD member "+s.ToName, "is not healthy any more")
	}
	if err := client.TransferLeader(ctx, s.ToName); err != nil {
		return fmt.Errorf("transfer PD leader to %s: %w", s.ToName, err)
	}
	return nil
}

// removeMember removes a member by its id. The name can be the name of a pod or of a host, and is empty while the
// member has not started.
func (a *Actor) removeMember(ctx context.Context, s step.RemoveMember) error {
	client, err := a.database()
	if err != nil {
		return err
	}
	members, err := client.Members(ctx)
	if err != nil {
		return fmt.Errorf("read PD members: %w", err)
	}
	if !hasMember(members, s.ID) {
		return nil
	}
	if members.Leader == nil || members.Leader.ID == s.ID {
		return stale("PD", "has no other leader than %s", s.Member)
	}
	health, err := client.Health(ctx)
	if err != nil {
		return fmt.Errorf("read health of PD members: %w", err)
	}
	if s.Down && (healthy(health, s.ID) || a.takesPart(ctx, client, s.Member)) {
		return stale("PD member "+s.Member, "is healthy now")
	}
	if err := a.quorumWithout(s, members, health); err != nil {
		return err
	}
	switch err := client.DeleteMember(ctx, s.ID); {
	case errors.Is(err, pd.ErrIsLeader):
		return stale("PD", "has no other leader than %s", s.Member)
	case err != nil:
		return fmt.Errorf("delete PD member %d: %w", s.ID, err)
	}
	switch members, err = client.Members(ctx); {
	case err != nil && s.Leaves:
		return nil // there may be no member left that can be asked
	case err != nil:
		return fmt.Errorf("read PD members: %w", err)
	case hasMember(members, s.ID):
		return fmt.Errorf("delete PD member %d: PD still lists it", s.ID)
	}
	return nil
}

// takesPart reports whether a member takes part in PD's quorum by its own account. The decision to remove it may be
// hours old, and PD's health check alone may miss a member that has come back since.
func (a *Actor) takesPart(ctx context.Context, client pd.Client, member string) bool {
	ctx, cancel := context.WithTimeout(ctx, pdAnswers)
	defer cancel()
	say, err := voters.Live(client, a.kube, a.cluster, a.now).Read(ctx)
	return err == nil && say.TakesPart(member)
}

// quorumWithout fails if PD would have no quorum, or could not be asked, without
// the member.
func (a *Actor) quorumWithout(s step.RemoveMember, members *pd.Members, health []pd.MemberHealth) error {
	others, up, own := len(members.Members)-1, 0, false
	for _, m := range members.Members {
		if m.ID != s.ID && healthy(health, m.ID) {
			up++
			own = own || a.cluster.HasPDName(m.Name)
		}
	}
	switch {
	case !own && !s.Leaves && healthy(health, s.ID):
		return stale("PD", "could not be asked without %s: all other healthy members are elsewhere", s.Member)
	case up < others/2+1:
		return stale("PD", "would have no quorum without %s: %d of the other %d members are healthy", s.Member, up, others)
	}
	return nil
}

func hasMember(m *pd.Members, id uint64) bool {
	for i := range m.Members {
		if m.Members[i].ID == id {
			return true
		}
	}
	return false
}

func healthy(health []pd.MemberHealth, id uint64) bool {
	for _, h := range health {
		if h.ID == id {
			return h.Healthy
		}
	}
	return false
}
