package step

import "github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"

// RecordFailure gives a member up. The record in the TidbCluster makes the component larger by a
// replacement, and stays if this process ends.
type RecordFailure struct {
	Component topology.Kind
	Member    string
	ID        uint64   // of the PD member or the store
	Name      string   // PD's name of the member
	Claims    []string // UIDs of the member's claims
	// Discarded: its data is given up, too.
	Discarded bool
}

func (RecordFailure) Action() string { return "RecordFailure" }

func (s RecordFailure) Target() (topology.Kind, string) { return s.Component, s.Member }

func (RecordFailure) Disruptive() bool { return true }

func (RecordFailure) Quiet() bool { return false }

func (s RecordFailure) String() string {
	if s.Discarded {
		return "give up " + s.Member + " and its data"
	}
	return "give up " + s.Member
}

// RetireFailure records that the database has removed a member that was given up. The member has
// not come back by itself.
type RetireFailure struct {
	Component topology.Kind
	Member    string
}

func (RetireFailure) Action() string { return "RetireFailure" }

func (s RetireFailure) Target() (topology.Kind, string) { return s.Component, s.Member }

func (RetireFailure) Disruptive() bool { return false }

func (RetireFailure) Quiet() bool { return false }

func (s RetireFailure) String() string { return "ask for a replacement of " + s.Member }

// ForgetFailure ends a failover: the member is back, or not wanted any more.
type ForgetFailure struct {
	Component topology.Kind
	Member    string
}

func (ForgetFailure) Action() string { return "ForgetFailure" }

func (s ForgetFailure) Target() (topology.Kind, string) { return s.Component, s.Member }

func (ForgetFailure) Disruptive() bool { return false }

func (ForgetFailure) Quiet() bool { return false }

func (s ForgetFailure) String() string { return "end the failover of " + s.Member }
