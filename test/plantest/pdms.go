package plantest

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// NewServices is the same as New with services of PD, of a release that can move their primaries. Their primaries are
// the members with the highest ordinals.
func NewServices(pd, tso, scheduling, tikv, tidb int) *Cluster {
	c := with(map[topology.Kind]int{
		topology.PD: pd, topology.TSO: tso, topology.Scheduling: scheduling, topology.TiKV: tikv, topology.TiDB: tidb,
	})
	for _, k := range topology.Services() {
		members := c.Seen.Groups[k].Members
		for i := range members {
			members[i].Database.Name, members[i].Database.Version = members[i].Name, "v8.5.2"
			members[i].Database.Primary = i == len(members)-1
		}
	}
	return c
}

// Primary makes a member the primary of its service.
func (c *Cluster) Primary(name string) *Cluster {
	members := c.Seen.Groups[c.Member(name).Kind].Members
	for i := range members {
		members[i].Database.Primary = members[i].Name == name
	}
	return c
}
