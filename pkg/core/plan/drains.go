package plan

import (
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// DrainCapture asks TiCDC to move all tables off a capture. The request is recorded before, and how
// many tables are left after it.
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

// AdoptDrain takes tidb-operator's mark of a drain off a pod. With the mark, a tidb-operator that drives
// later would not drain the capture, since the time for that is over.
type AdoptDrain struct {
	Component topology.Kind
	Member    string
	PodUID    string
	// Since is when tidb-operator began, where its drain goes on: the time of ours begins then. It is
	// zero for a drain that is over.
	Since time.Time
}

// DrainEnds is how long after the last request a drain has surely ended, since nobody continues it. The
// time of a new one must not begin with the old one.
const DrainEnds = 5 * time.Minute

func (AdoptDrain) Action() string                    { return "AdoptDrain" }
func (s AdoptDrain) Target() (topology.Kind, string) { return s.Component, s.Member }
func (AdoptDrain) Disruptive() bool                  { return false }
func (AdoptDrain) Quiet() bool                       { return false }

func (DrainCapture) Action() string                    { return "DrainCapture" }
func (s DrainCapture) Target() (topology.Kind, string) { return s.Component, s.Member }
func (DrainCapture) Disruptive() bool                  { return false }
func (s DrainCapture) Quiet() bool                     { return s.Again }

func (ForgetDrain) Action() string                    { return "ForgetDrain" }
func (s ForgetDrain) Target() (topology.Kind, string) { return s.Component, s.Member }
func (ForgetDrain) Disruptive() bool                  { return false }
func (ForgetDrain) Quiet() bool                       { return false }

func (s AdoptDrain) String() string {
	if s.Since.IsZero() {
		return "take tidb-operator's mark of a drain off pod " + s.Member
	}
	return "take over tidb-operator's drain of " + s.Member
}

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

// adoptDrains takes over drains that tidb-operator began and does not continue, since this process drives now.
// tidb-operator marks the pod when a drain begins, leaves the mark where it does not replace the pod, and writes
// nothing when a drain continues. So a mark that is older than a drain without requests lasts says nothing about now,
// and a drain begins again.
func adoptDrains(s state.Snapshot) verdict {
	var v verdict
	for _, m := range s.Groups[topology.TiCDC].Members {
		if m.Pod == nil || m.Pod.Terminating || m.Pod.DrainBegun.IsZero() {
			continue
		}
		step := AdoptDrain{Component: m.Kind, Member: m.Name, PodUID: m.Pod.UID}
		d, ours := s.Drain(m.Name)
		if begun := m.Pod.DrainBegun; s.At.Sub(begun) < DrainEnds && (!ours || d.PodUID != m.Pod.UID) {
			step.Since = begun
		}
		v.steps = append(v.steps, step)
	}
	return v
}

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
