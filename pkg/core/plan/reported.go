package plan

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// asksVersion waits until all members with the wanted pod template report the wanted release. Members that report no
// release do not count. An image can contain another release than its tag says, and a webhook can replace the image.
// The StatefulSet is then correct, and the pods run another release.
func (sc Scope) asksVersion() verdict {
	var v verdict
	for _, m := range sc.Got.InSet() {
		if !m.Up() || sc.Got.Outdated(m) || !m.ReportsOther(sc.Want.Version) {
			continue
		}
		g := Gate{
			Component: m.Kind, Member: m.Name, Source: FromDatabase, Reason: VersionReported,
			Want:     fmt.Sprintf("%s reported", sc.Want.Version),
			Observed: fmt.Sprintf("it reports %s, and %s is asked for", m.Reported(), sc.Want.Version),
		}
		v.gates = append(v.gates, sc.withinTimeToServe(g, m.Pod.Since, remedy.Remedy{
			remedy.Run("see which image it runs", sc.Cluster.Kubectl("get", "pod", m.Name, "-o", "jsonpath={.status.containerStatuses[*].imageID}")),
			remedy.Say("use an image whose tag is its release, or ask for the release that it reports"),
		}))
	}
	return v
}
