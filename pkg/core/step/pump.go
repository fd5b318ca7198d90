package step

import "github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"

// ClosePump asks a Pump to go offline. The Pump takes no more binlog, and ends when drainers have read what it has.
// That cannot be taken back.
type ClosePump struct {
	Component topology.Kind
	Member    string
	PodUID    string
	Node      string // its id
}

func (ClosePump) Action() string { return "ClosePump" }

func (s ClosePump) Target() (topology.Kind, string) { return s.Component, s.Member }

func (ClosePump) Disruptive() bool { return true }

func (ClosePump) Quiet() bool { return false }

func (s ClosePump) String() string { return "close Pump " + s.Member }
