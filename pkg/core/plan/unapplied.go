package plan

import (
	"fmt"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Unapplied are members that may run with an older configuration than the one in their ConfigMap.
// With configUpdateStrategy InPlace the user asks for changes to be written without a restart. So
// the cluster has converged, but the difference is reported: the next restart, whatever its cause,
// is the first test of the new configuration. A component that reads its configuration again after
// a change has no such members. Nor has a component without a ConfigMap of ours.
type Unapplied struct {
	Component topology.Kind
	// Older are known to run with an older one; for Unknown it is not known.
	Older, Unknown []string
	// Remedy restarts the component's members one after another.
	Remedy remedy.Remedy
}

func (u Unapplied) String() string {
	var parts []string
	if len(u.Older) > 0 {
		parts = append(parts, fmt.Sprintf("%s started before the configuration was written and run without it", strings.Join(u.Older, ", ")))
	}
	if len(u.Unknown) > 0 {
		parts = append(parts, fmt.Sprintf("of %s it is not known whether they run with it", strings.Join(u.Unknown, ", ")))
	}
	return fmt.Sprintf("%s (configUpdateStrategy InPlace): %s", u.Component.Title(), strings.Join(parts, "; "))
}

// unapplied returns the configurations of all components that members have not applied.
func unapplied(w desired.State, s state.Snapshot) []Unapplied {
	var all []Unapplied
	for _, g := range w.Groups {
		u := Unapplied{Component: g.Kind}
		for _, m := range s.Groups[g.Kind].InSet() {
			switch {
			case !g.InPlace || len(g.Config) == 0 || g.Kind.Reloads() || m.Pod == nil || m.Pod.Terminating || m.Pod.Started.IsZero():
			case m.Pod.Config == state.ConfigOlder:
				u.Older = append(u.Older, m.Name)
			case m.Pod.Config == state.ConfigUnknown:
				u.Unknown = append(u.Unknown, m.Name)
			}
		}
		if len(u.Older)+len(u.Unknown) > 0 {
			u.Remedy = remedy.Remedy{remedy.Run("restart them one after another", w.Cluster.Plugin("restart", string(g.Kind)))}
			all = append(all, u)
		}
	}
	return all
}
