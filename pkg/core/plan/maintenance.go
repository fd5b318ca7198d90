package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// holdForMaintenance holds back what may take a member away during the maintenance of a node with other members. That
// node may go down at any time. Without that node and the member, PD or regions may have no quorum, or a service no
// server. Members on that node go down anyway, and one whose process is known not to run has nothing to lose.
func (d *decision) holdForMaintenance(v verdict) verdict {
	all := d.UnderMaintenance()
	return d.hold(v, func(s step.Step, name string) (Gate, bool) {
		i := slices.IndexFunc(all, func(o facts.Maintained) bool { return !slices.Contains(o.Members, name) })
		if i < 0 || !TakesAway(s) || d.isStopped(name) {
			return Gate{}, false
		}
		return d.maintenanceGate(all[i], name), true
	})
}

// maintenanceGate waits for the end of the maintenance of a node.
func (sc Scope) maintenanceGate(m facts.Maintained, member string) Gate {
	unmark := sc.Cluster.Kubectl("annotate", "tidbcluster", sc.Cluster.Name, topology.AnnotationMaintenance+"-")
	return Gate{
		Component: sc.Want.Kind, Member: member, Reason: MaintenanceEnded, Want: "maintenance of node " + m.Node + " ended",
		Observed: fmt.Sprintf("%s, with %s, since %s, begun by %s",
			m.Node, strings.Join(m.Members, ", "), m.Since.UTC().Format(time.RFC3339), m.By),
		patience: Moving,
		Remedy: remedy.Remedy{
			remedy.Run("end it when the node is back", remedy.Plugin("", "maintenance", "stop", m.Node)),
			remedy.Run("if the node does not exist any more", unmark),
		},
	}
}
