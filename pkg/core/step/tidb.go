package step

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// BeginDDLPause pauses the DDL statements of users before the first TiDB server is restarted onto another version.
// While servers have several versions, a server that does not know a DDL job could go on with the job. The pause is
// recorded in the TidbCluster before TiDB is asked. All servers of TiDB know the pause; one of them is asked.
type BeginDDLPause struct {
	Component topology.Kind
	Member    string // the server that is restarted next
	By        string // the server that is asked
	PodUID    string // of the pod of By
	From, To  string // the versions
	// Revision is the update revision of the rollout. One process asks for a pause of the same rollout once.
	Revision string
}

func (BeginDDLPause) Action() string { return "BeginDDLPause" }

func (s BeginDDLPause) Target() (topology.Kind, string) { return s.Component, s.Member }

func (BeginDDLPause) Disruptive() bool { return false }

func (BeginDDLPause) Quiet() bool { return false }

func (s BeginDDLPause) String() string {
	return fmt.Sprintf("pause DDL statements for the upgrade from %s to %s, by %s", s.From, s.To, s.By)
}

// EndDDLPause ends a pause of the DDL statements of users, which was begun for an upgrade of TiDB. Then it removes the
// record of the pause from the TidbCluster. All servers of TiDB know the pause; one of them is asked.
type EndDDLPause struct {
	Component topology.Kind
	Member    string
	PodUID    string
}

func (EndDDLPause) Action() string { return "EndDDLPause" }

func (s EndDDLPause) Target() (topology.Kind, string) { return s.Component, s.Member }

func (EndDDLPause) Disruptive() bool { return false }

func (EndDDLPause) Quiet() bool { return false }

func (s EndDDLPause) String() string { return "let DDL statements run again, by " + s.Member }

// SetPassword gives root of TiDB a random password by one server, and records that in the
// TidbCluster. Where root has a password now, the password stays. The password is in the Secret
// before TiDB has it. Otherwise, if this process ended in between, nobody would know the password.
type SetPassword struct {
	Component topology.Kind
	Member    string
	PodUID    string
	Secret    string
}

func (SetPassword) Action() string { return "SetPassword" }

func (s SetPassword) Target() (topology.Kind, string) { return s.Component, s.Member }

func (SetPassword) Disruptive() bool { return false }

func (SetPassword) Quiet() bool { return false }

func (s SetPassword) String() string {
	return "set the first password of root, in Secret " + s.Secret
}
