package plan

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// SetPassword gives root of TiDB a random password by one server, and records that in the
// TidbCluster. Where root has a password now, the password stays. The password is in the Secret
// before TiDB has it. Otherwise, if this process ended in between, nobody would know the password.
type SetPassword struct {
	Component topology.Kind
	Member    string
	PodUID    string
	Secret    string
}

func (SetPassword) Action() string                    { return "SetPassword" }
func (s SetPassword) Target() (topology.Kind, string) { return s.Component, s.Member }
func (SetPassword) Disruptive() bool                  { return false }
func (SetPassword) Quiet() bool                       { return false }

func (s SetPassword) String() string {
	return "set the first password of root, in Secret " + s.Secret
}

// ClosePump asks a Pump to go offline. The Pump takes no more binlog, and ends when drainers have read what it has.
// That cannot be taken back.
type ClosePump struct {
	Component topology.Kind
	Member    string
	PodUID    string
	Node      string // its id
}

func (ClosePump) Action() string                    { return "ClosePump" }
func (s ClosePump) Target() (topology.Kind, string) { return s.Component, s.Member }
func (ClosePump) Disruptive() bool                  { return true }
func (ClosePump) Quiet() bool                       { return false }

func (s ClosePump) String() string { return "close Pump " + s.Member }
