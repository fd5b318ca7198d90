package step

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// MovePrimary has another member of a service of PD do the work.
type MovePrimary struct {
	Component topology.Kind
	From, To  string // pods
	ToName    string // name in PD
}

func (MovePrimary) Action() string { return "MovePrimary" }

func (s MovePrimary) Target() (topology.Kind, string) { return s.Component, s.From }

func (MovePrimary) Disruptive() bool { return true }

func (MovePrimary) Quiet() bool { return false }

func (s MovePrimary) String() string {
	return fmt.Sprintf("move primary of %s from %s to %s", s.Component.Title(), s.From, s.To)
}
