package step

import (
	"fmt"
	"time"

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

func (AdoptDrain) Action() string { return "AdoptDrain" }

func (s AdoptDrain) Target() (topology.Kind, string) { return s.Component, s.Member }

func (AdoptDrain) Disruptive() bool { return false }

func (AdoptDrain) Quiet() bool { return false }

func (DrainCapture) Action() string { return "DrainCapture" }

func (s DrainCapture) Target() (topology.Kind, string) { return s.Component, s.Member }

func (DrainCapture) Disruptive() bool { return false }

func (s DrainCapture) Quiet() bool { return s.Again }

func (ForgetDrain) Action() string { return "ForgetDrain" }

func (s ForgetDrain) Target() (topology.Kind, string) { return s.Component, s.Member }

func (ForgetDrain) Disruptive() bool { return false }

func (ForgetDrain) Quiet() bool { return false }

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
