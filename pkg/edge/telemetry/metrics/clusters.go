package metrics

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
)

var (
	stateDesc = ofCluster("cluster_state", "1; how the last turn of the cluster ended is in the label.", "state")
	heldDesc  = ofCluster("lease_held", "1 for a cluster that this process drives.")
	gateDesc  = ofCluster("gate_since_timestamp_seconds", "Since when the cluster has been waiting for what reason says.",
		"component", "member", "object", "reason", "blocked")
	failedDesc = ofCluster("pd_failed_calls_total", "Calls of the cluster's PD that PD did not answer.")
)

func ofCluster(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prefix+name, help, append([]string{"cluster_namespace", "cluster_name"}, labels...), nil)
}

// clusters is what is known of single clusters. As a collector it shows only what holds now. With a cluster that is
// deleted, all series of the cluster go.
type clusters struct {
	now func() time.Time

	mu  sync.Mutex
	all map[cache.ObjectName]*cluster
}

type cluster struct {
	state  string
	held   bool
	gates  map[gate]time.Time
	failed float64
}

// gate identifies a gate as events do, without what changes at it.
type gate struct {
	plan.GateKey
	blocked bool
}

func newClusters(now func() time.Time) *clusters {
	return &clusters{now: now, all: map[cache.ObjectName]*cluster{}}
}

// named returns the cluster of that name. The lock must be held.
func (c *clusters) named(name cache.ObjectName) *cluster {
	if c.all[name] == nil {
		c.all[name] = &cluster{}
	}
	return c.all[name]
}

func (c *clusters) countTurn(name cache.ObjectName, outcome string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.named(name)
	if of.state = outcome; outcome == "held" {
		of.gates = nil // its driver reports them
	}
}

func (c *clusters) wait(name cache.ObjectName, gates []plan.Gate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.named(name)
	closed := map[gate]time.Time{}
	for _, g := range gates {
		is := gate{g.Key(), g.Blocked}
		closed[is] = of.closedSince(is, g.Since, c.now())
	}
	of.gates = closed
}

// closedSince returns when a gate was closed. That is the time in the cluster, which a new process has as well, or
// else when this process first saw the gate.
func (c *cluster) closedSince(g gate, known, now time.Time) time.Time {
	if !known.IsZero() {
		return known
	}
	for _, blocked := range []bool{g.blocked, !g.blocked} {
		g.blocked = blocked
		if since, before := c.gates[g]; before {
			return since
		}
	}
	return now
}

func (c *clusters) setHeld(name cache.ObjectName, held bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.named(name).held = held
}

func (c *clusters) fail(name cache.ObjectName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.named(name).failed++
}

func (c *clusters) forget(name cache.ObjectName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, name)
}

// Describe implements prometheus.Collector.
func (c *clusters) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{stateDesc, heldDesc, gateDesc, failedDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *clusters) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, of := range c.all {
		send := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(d, kind, value, append([]string{name.Namespace, name.Name}, labels...)...)
		}
		if of.state != "" {
			send(stateDesc, prometheus.GaugeValue, 1, of.state)
		}
		if of.held {
			send(heldDesc, prometheus.GaugeValue, 1)
		}
		if of.failed > 0 {
			send(failedDesc, prometheus.CounterValue, of.failed)
		}
		for g, since := range of.gates {
			send(gateDesc, prometheus.GaugeValue, float64(since.UnixMilli())/1000,
				string(g.Component), g.Member, g.Object, string(g.Reason), strconv.FormatBool(g.blocked))
		}
	}
}
