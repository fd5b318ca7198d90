// Package component describes each component of a TiDB cluster to package plan: one Profile each,
// which is data. A Profile says what a component needs, what must hold before a member is restarted
// or removed, and how that is read. Package plan does the rest.
package component

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// failoverPeriod is how long a member is down before it is given up, by default as in
// tidb-operator.
const failoverPeriod = 5 * time.Minute

// Profiles returns all components that this engine drives, in the order in which their pods are
// replaced.
func Profiles() []plan.Profile {
	return []plan.Profile{PD(), TSO(), Scheduling(), TiProxy(), TiFlash(), TiKV(), Pump(), TiDB(), TiCDC()}
}

// pdServes is what every other component needs of PD.
var pdServes = plan.Need{
	Reason: plan.PDServing, Want: "PD serving",
	Holds: func(sc plan.Scope) bool {
		return sc.All.PD.Serving()
	},
	Observed: func(sc plan.Scope) string { return pdState(sc) },
}

// pdUpgraded is what a component needs of PD in other parts. In each part PD is upgraded first, and so it is in all parts
// together. A store of a new version may use what an old PD does not know.
var pdUpgraded = plan.Need{
	Reason: plan.PDUpgraded, Want: "PD of other parts upgraded",
	Holds: func(sc plan.Scope) bool {
		newer, err := topology.IsDowngrade(sc.Want.Version, sc.All.PD.OldestElsewhere)
		return err != nil || !newer
	},
	Help: func(sc plan.Scope) (help remedy.Remedy) {
		for _, v := range sc.All.PD.OtherVoters {
			part, is := topology.PartWithPD(v.Host())
			next := remedy.Run(fmt.Sprintf("upgrade part %s/%s", part.Namespace, part.Name), part.Plugin("upgrade", sc.Want.Version))
			if part.Domain != "" && part.Domain != sc.Cluster.Domain { // the command would change a cluster of the same name here
				next = remedy.Say(fmt.Sprintf("upgrade part %s/%s of the Kubernetes cluster with the domain %s, or all parts together with --contexts", part.Namespace, part.Name, part.Domain))
			}
			if is && !slices.ContainsFunc(help, func(a remedy.Action) bool { return a.Text == next.Text }) {
				help = append(help, next)
			}
		}
		return help
	},
	Observed: func(sc plan.Scope) string {
		return fmt.Sprintf("a member has %s, and %s is asked for here", sc.All.PD.OldestElsewhere, sc.Want.Version)
	},
}
