package plan

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// DrainCapture records that TiCDC is asked to move all tables off a capture, asks it, and records how
// many are left.
type DrainCapture struct {
	Component topology.Kind
	Member    string
	PodUID    string
	// Capture is the one to drain. "": TiCDC does not answer, and only the time at which we began is
	// recorded.
	Capture string
	// Owner: it is the owner of TiCDC, and is asked to resign first.
	Owner bool
	// Again: it was asked before. To ask changes nothing, but only the answer has the number of tables.
	Again bool
}

// ForgetDrain deletes the record of a drain that is over.
type ForgetDrain struct {
	Component topology.Kind
	Member    string
	PodUID    string // of the pod that is there now, "" for none
}

func (DrainCapture) step() {}
func (ForgetDrain) step()  {}

func (s DrainCapture) Target() (topology.Kind, string) { return s.Component, s.Member }
func (s ForgetDrain) Target() (topology.Kind, string)  { return s.Component, s.Member }

func (s DrainCapture) String() string {
	switch {
	case s.Capture == "":
		return "wait for TiCDC to move tables off " + s.Member
	case s.Owner:
		return "have another capture own TiCDC than " + s.Member
	}
	return "move tables off " + s.Member
}

func (s ForgetDrain) String() string { return fmt.Sprintf("conclude the drain of %s", s.Member) }

// endDrains deletes records of drains whose pod is gone. A record of a pod that is there may be of use.
func endDrains(c topology.Cluster, s state.Snapshot) verdict {
	var v verdict
	for _, d := range s.Drains {
		k, _, _ := c.Member(d.Member)
		m, _ := s.Groups[k].Member(d.Member)
		uid := ""
		if m.Pod != nil {
			uid = m.Pod.UID
		}
		if uid != d.PodUID {
			v.steps = append(v.steps, ForgetDrain{Component: k, Member: d.Member, PodUID: uid})
		}
	}
	return v
}
