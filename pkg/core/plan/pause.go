package plan

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// paused returns the plan of a paused cluster: nothing is done, but that a pause ends whose time is
// over. A pause without a time, or of which the person is not known, is ended by people only.
func paused(w desired.State, s state.Snapshot) Plan {
	pause := w.Cluster.Pause
	if pause.Over(s.At) {
		return Plan{Outcome: Act, Steps: []step.Step{step.EndPause{By: pause.By, Until: pause.Until}}, Notices: findings(w, s)}
	}
	all := slices.Concat(BegunInPD(w.Cluster, s), BegunInTiDB(w.Cluster), begunInKubernetes(w, s), findings(w, s))
	return Plan{Outcome: Paused, Pause: pause, Notices: all}
}
