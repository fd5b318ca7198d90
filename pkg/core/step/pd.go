package step

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// MoveLeader moves PD's leadership to another member.
type MoveLeader struct {
	From, To         string // pods
	FromName, ToName string // names in PD
}

func (MoveLeader) Action() string { return "MoveLeader" }

func (s MoveLeader) Target() (topology.Kind, string) { return topology.PD, s.From }

func (MoveLeader) Disruptive() bool { return true }

func (MoveLeader) Quiet() bool { return false }

func (s MoveLeader) String() string {
	return fmt.Sprintf("move PD leader from %s to %s", s.From, s.To)
}

// RemoveMember removes a member from PD.
type RemoveMember struct {
	Member string
	ID     uint64
	// Down: PD did not call the member healthy when this was decided. The member may be back when the request is sent, and
	// a voter that serves is removed only where that was decided.
	Down bool
	// Leaves: the part of the member is deleted, so that PD need not be asked from here afterwards.
	Leaves bool
}

func (RemoveMember) Action() string { return "RemoveMember" }

func (s RemoveMember) Target() (topology.Kind, string) { return topology.PD, s.Member }

func (RemoveMember) Disruptive() bool { return true }

func (RemoveMember) Quiet() bool { return false }

func (s RemoveMember) String() string { return fmt.Sprintf("remove PD member %s", s.Member) }

// EnableRules has PD place copies by its placement rules, and records that. It is done once: a person who
// disables them afterwards has a reason, and the two would go on for ever.
type EnableRules struct {
	Component topology.Kind // the one that needs them
}

func (EnableRules) Action() string { return "EnableRules" }

func (s EnableRules) Target() (topology.Kind, string) { return s.Component, "" }

func (EnableRules) Disruptive() bool { return false }

func (EnableRules) Quiet() bool { return false }

func (s EnableRules) String() string { return "enable placement rules in PD" }
