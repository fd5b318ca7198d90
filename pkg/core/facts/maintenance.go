package facts

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Maintained is a node under maintenance and the members there.
type Maintained struct {
	topology.Maintenance
	Members []string
}

// UnderMaintenance returns the nodes under maintenance that have members now. One whose members are all
// elsewhere now may go down without a loss.
func (c Component) UnderMaintenance() []Maintained {
	var all []Maintained
	for _, m := range c.Cluster.Maintained {
		on := Maintained{Maintenance: m}
		for _, k := range topology.Kinds() {
			for _, o := range c.All.Groups[k].Members {
				if o.Pod != nil && o.Pod.Node == m.Node {
					on.Members = append(on.Members, o.Name)
				}
			}
		}
		if len(on.Members) > 0 {
			all = append(all, on)
		}
	}
	return all
}
