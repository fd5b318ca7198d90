package plan_test

import (
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestLeave: members of PD of a part leave only where the others are a quorum, and hand the leader over first.
func TestLeave(t *testing.T) {
	here := func(leads, healthy bool) state.Member {
		return state.Member{Kind: topology.PD, Name: "more-pd-0", Database: state.Database{
			Presence: state.Present, ID: 7, Name: "more-pd-0", Leader: leads, Healthy: healthy,
		}}
	}
	there := func(name string, healthy bool) state.OtherVoter {
		return state.OtherVoter{Name: name, Healthy: healthy}
	}
	for name, tt := range map[string]struct {
		own    []state.Member
		others []state.OtherVoter
		want   step.Step
		why    string
	}{
		"leads":              {[]state.Member{here(true, true)}, []state.OtherVoter{there("a", false), there("b", true), there("c", true)}, step.MoveLeader{From: "more-pd-0", To: "c", FromName: "more-pd-0", ToName: "c"}, ""},
		"follows":            {[]state.Member{here(false, true)}, []state.OtherVoter{there("a", true), there("b", true)}, step.RemoveMember{Member: "more-pd-0", ID: 7, Leaves: true}, ""},
		"does not serve":     {[]state.Member{here(false, false)}, []state.OtherVoter{there("a", true), there("b", true)}, step.RemoveMember{Member: "more-pd-0", ID: 7, Down: true, Leaves: true}, ""},
		"others are no half": {[]state.Member{here(false, true)}, []state.OtherVoter{there("a", true), there("b", false)}, nil, "1 of the other 2"},
		"the last":           {[]state.Member{here(true, true)}, nil, nil, "0 of the other 0"},
		"left already":       {nil, []state.OtherVoter{there("a", true)}, nil, ""},
	} {
		s := state.Snapshot{
			PD:     state.PD{ClusterID: 1, Members: len(tt.own) + len(tt.others), OtherVoters: tt.others},
			Groups: map[topology.Kind]state.Group{topology.PD: {Members: tt.own}},
		}
		steps, why := plan.Leave(s)
		if tt.why == "" && why != "" || !strings.Contains(why, tt.why) {
			t.Errorf("%s: %q, want %q", name, why, tt.why)
		}
		switch {
		case tt.want == nil && len(steps) > 0, tt.want != nil && (len(steps) != 1 || steps[0] != tt.want):
			t.Errorf("%s: %v, want %v", name, steps, tt.want)
		}
	}
	if _, why := plan.Leave(state.Snapshot{PD: state.PD{Problem: "no answer"}}); why != "no answer" {
		t.Errorf("without PD: %q", why)
	}
}
