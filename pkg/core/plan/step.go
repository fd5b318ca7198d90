package plan

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// basis returns the StatefulSet that is decided on now.
func (sc Scope) basis() step.Basis {
	return step.Basis{UID: sc.Got.Set.UID, Generation: sc.Got.Set.Generation}
}
