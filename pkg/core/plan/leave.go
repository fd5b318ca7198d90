package plan

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Leave returns the next steps with which PD's members of a part leave the database, none where no member is left. It
// returns a reason where the members must stay, because PD would have no quorum otherwise.
//
// All members of the part go, so that none of them is counted on, and none of them becomes PD's leader.
func Leave(s state.Snapshot) (steps []step.Step, why string) {
	var own []state.Member
	for _, m := range s.Groups[topology.PD].Members {
		if m.Database.Presence == state.Present {
			own = append(own, m)
		}
	}
	elsewhere, healthy := s.PD.Members-len(own), 0
	var next state.OtherVoter
	for _, v := range s.PD.OtherVoters {
		if v.Healthy {
			next, healthy = v, healthy+1
		}
	}
	switch {
	case !s.PD.Known():
		return nil, s.PD.Problem
	case len(own) == 0:
		return nil, ""
	case healthy < elsewhere/2+1:
		return nil, fmt.Sprintf("PD would have no quorum without the members here: %d of the other %d members are healthy", healthy, elsewhere)
	}
	for _, m := range own {
		if m.Database.Leader {
			return []step.Step{step.MoveLeader{From: m.Name, To: next.Name, FromName: m.Database.Name, ToName: next.Name}}, ""
		}
		steps = append(steps, step.RemoveMember{Member: m.Name, ID: m.Database.ID, Down: !m.Database.Healthy, Leaves: true})
	}
	return steps, ""
}
