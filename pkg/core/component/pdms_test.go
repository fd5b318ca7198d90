package component_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestServicesOfPD is what happens to the primary of a service of PD, and what waits for timestamps.
func TestServicesOfPD(t *testing.T) {
	services := func(change func(*plantest.Cluster)) *plantest.Cluster {
		c := plantest.NewServices(3, 2, 2, 3, 2)
		change(c)
		return c
	}
	ofThree := plantest.NewServices(3, 3, 2, 3, 2)
	rolling := func(change func(*plantest.Cluster)) *plantest.Cluster {
		return services(func(c *plantest.Cluster) {
			c.Roll(topology.TSO)
			change(c)
		})
	}
	of := func(version string) func(*plantest.Cluster) {
		return func(c *plantest.Cluster) {
			for i := range c.Seen.Groups[topology.TSO].Members {
				d := &c.Seen.Groups[topology.TSO].Members[i].Database
				d.Version, d.Name = version, ""
			}
		}
	}
	scaled := func(to int, change func(*plantest.Cluster)) *plantest.Cluster {
		return services(func(c *plantest.Cluster) {
			c.Want(topology.TSO).Replicas = to
			change(c)
		})
	}
	none := func(*plantest.Cluster) {}
	plantest.Waits(t, "pdms", []plantest.Case{
		{Name: "converged", Cluster: services(none)},
		{Name: "restart of the primary", Cluster: rolling(none)},
		{Name: "restart of the primary of three, of which PD chooses two", Cluster: ofThree.Roll(topology.TSO)},
		{Name: "restart of the primary of Scheduling", Cluster: services(func(c *plantest.Cluster) { c.Roll(topology.Scheduling) })},
		{Name: "restart of another member", Cluster: rolling(func(c *plantest.Cluster) { c.Primary("t-tso-0") })},
		{Name: "restart while there is no primary", Cluster: rolling(func(c *plantest.Cluster) { c.Member("t-tso-1").Database.Primary = false })},
		{Name: "restart of the primary of an old release", Cluster: rolling(of("v8.1.0"))},
		{Name: "restart where PD does not name the others", Cluster: rolling(of("v8.5.2"))},
		{Name: "restart while another member is down", Cluster: rolling(func(c *plantest.Cluster) { c.Down(time.Minute, "t-tso-0") })},
		{Name: "restart while PD does not say who serves", Cluster: rolling(func(c *plantest.Cluster) {
			for i := range c.Seen.Groups[topology.TSO].Members {
				d := &c.Seen.Groups[topology.TSO].Members[i].Database
				*d = state.Database{Problem: "PD does not list its services"}
			}
		})},
		{Name: "PD is restarted first", Cluster: rolling(func(c *plantest.Cluster) { c.Roll(topology.PD) })},
		{Name: "scale-in of the primary", Cluster: scaled(1, none)},
		{Name: "scale-in of another member", Cluster: scaled(1, func(c *plantest.Cluster) { c.Primary("t-tso-0") })},
		{Name: "scale-in of the primary of an old release", Cluster: scaled(1, of("v8.1.0"))},
		{Name: "scale-out", Cluster: scaled(3, none)},
		{Name: "TiKV waits for timestamps", Cluster: services(func(c *plantest.Cluster) {
			c.Want(topology.TiKV).Replicas = 4
			c.Down(time.Minute, "t-tso-0", "t-tso-1")
		})},
		{Name: "before the first store, PD lists no services", Cluster: services(func(c *plantest.Cluster) {
			c.Want(topology.TiKV).Replicas = 4
			for i := range c.Seen.Groups[topology.TSO].Members {
				c.Seen.Groups[topology.TSO].Members[i].Database = state.Database{Problem: "PD lists no services before a store has joined"}
			}
		})},
	})
}
