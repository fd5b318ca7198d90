package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// EndPause ends a pause whose time is over. Steps after it need another decision: until the pause
// has ended, nothing else may be done.
type EndPause struct {
	By    string
	Until time.Time
}

func (EndPause) Action() string                  { return "EndPause" }
func (EndPause) Target() (topology.Kind, string) { return "", "" }
func (EndPause) Disruptive() bool                { return true }
func (EndPause) Quiet() bool                     { return false }

func (s EndPause) String() string {
	return fmt.Sprintf("end the pause by %s, which was to last until %s", s.By, s.Until.UTC().Format(time.RFC3339))
}

// paused returns the plan of a paused cluster: nothing is done, but that a pause ends whose time is
// over. A pause without a time, or of which the person is not known, is ended by people only.
func paused(w desired.State, s state.Snapshot) Plan {
	pause := w.Cluster.Pause
	if pause.Over(s.At) {
		return Plan{Outcome: Act, Steps: []Step{EndPause{By: pause.By, Until: pause.Until}}, Notices: findings(w, s)}
	}
	all := slices.Concat(BegunInPD(w.Cluster, s), BegunInTiDB(w.Cluster), begunInKubernetes(w, s), findings(w, s))
	return Plan{Outcome: Paused, Pause: pause, Notices: all}
}
