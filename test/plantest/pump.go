package plantest

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// NewPumps is the same as New with Pumps, to which TiDB writes its binlog.
func NewPumps(pd, tikv, pump, tidb int) *Cluster {
	c := with(map[topology.Kind]int{topology.PD: pd, topology.TiKV: tikv, topology.Pump: pump, topology.TiDB: tidb})
	c.Seen.PD.PumpsKnown = true
	c.Binlog(true)
	return c
}

// Binlog says whether TiDB is to write a binlog, and does.
func (c *Cluster) Binlog(writes bool) *Cluster {
	c.WantBinlog(writes)
	for i := range c.Seen.Groups[topology.TiDB].Members {
		c.Seen.Groups[topology.TiDB].Members[i].Pod.Binlog = writes
	}
	return c
}

// Pump gives a Pump another state.
func (c *Cluster) Pump(name string, s state.PumpState) *Cluster {
	d := &c.Member(name).Database
	d.Pump.State, d.Healthy = s, s == state.PumpOnline
	return c
}

// WantBinlog says whether TiDB is to write a binlog.
func (c *Cluster) WantBinlog(writes bool) *Cluster {
	c.Want(topology.TiDB).Binlog, c.Want(topology.Pump).Binlog = writes, writes
	return c
}
