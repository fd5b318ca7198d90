package plan

import "github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"

// SetPassword gives root of TiDB a random password by one server, unless root has a password by now,
// and records that in the TidbCluster. The password is in the Secret before TiDB has it: if this
// process ended in between, and it were not, nobody would know the password.
type SetPassword struct {
	Component topology.Kind
	Member    string
	PodUID    string
	Secret    string
}

func (SetPassword) step() {}

func (s SetPassword) Target() (topology.Kind, string) { return s.Component, s.Member }

func (s SetPassword) String() string {
	return "set the first password of root, in Secret " + s.Secret
}
