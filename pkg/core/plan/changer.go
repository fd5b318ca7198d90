package plan

import "github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"

// Changer is who can change what a condition waits for.
type Changer string

// Who can change it.
const (
	ByPerson     Changer = "a person"
	ByKubernetes Changer = "Kubernetes"
	ByDatabase   Changer = "the database"
	ByTool       Changer = "kubectl tidb"
)

// changer returns who can change what a gate waits for.
func (g Gate) changer(steps []step.Step, otherwise Changer) Changer {
	switch {
	case g.Blocked, g.Approval:
		return ByPerson
	case len(steps) > 0:
		return ByTool
	case g.waitsForOthers && otherwise != "":
		return otherwise
	case g.Source == FromDatabase:
		return ByDatabase
	}
	return ByKubernetes
}
