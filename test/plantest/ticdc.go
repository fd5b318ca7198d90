package plantest

import (
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// NewCaptures is the same as New with TiCDC v8.1.0. The capture with ordinal 0 is its owner, and their
// tables have ten minutes to leave them.
func NewCaptures(pd, tikv, tidb, ticdc int) *Cluster {
	c := with(map[topology.Kind]int{topology.PD: pd, topology.TiKV: tikv, topology.TiDB: tidb, topology.TiCDC: ticdc})
	g := c.Want(topology.TiCDC)
	g.DrainTimeout, g.Version = 10*time.Minute, "v8.1.0"
	for i := range ticdc {
		d := &c.Member(c.Wanted.Cluster.PodName(topology.TiCDC, i)).Database
		d.Version = "v8.1.0"
		d.Capture = state.Capture{
			ID: Capture(i), Owner: i == 0, Drains: state.CanDrain, Leads: Capture(0), Others: ticdc - 1, Feeds: 1,
		}
	}
	return c
}

// Capture returns the id of the capture with an ordinal.
func Capture(i int) string { return "capture-" + string(rune('0'+i)) }

// Draining records that a capture is drained since a while ago, and that so many tables were left a
// second ago. With none left, that is so since the drain began.
func (c *Cluster) Draining(name string, ago time.Duration, tables int) *state.Drain {
	m := c.Member(name)
	var empty time.Time
	if tables == 0 {
		empty = Now.Add(-ago)
	}
	c.Seen.Drains = append(c.Seen.Drains, state.Drain{
		Most: 7, Empty: empty,
		Member: name, PodUID: m.Pod.UID, Capture: m.Database.Capture.ID, Of: m.Database.Capture.Leads,
		Since: Now.Add(-ago), Asked: Now.Add(-time.Second), Tables: tables,
	})
	return &c.Seen.Drains[len(c.Seen.Drains)-1]
}
