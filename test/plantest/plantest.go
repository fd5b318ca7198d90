// Package plantest builds clusters for tests of decisions: a wanted cluster, what was
// observed of it, and the decision as text. A new cluster has converged, so a test names
// only what is different.
package plantest

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Now is when the cluster is observed, an hour after its pods were made.
var Now = time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)

// Cluster is a wanted cluster and what was observed of it.
type Cluster struct {
	Wanted desired.State
	Policy plan.Policy
	Seen   state.Snapshot
}

// New returns a cluster that has converged, called "t" in namespace "ns". The leader of its PD is
// the member with ordinal 0, and each store has ten leaders and the id 1 + ordinal.
func New(pd, tikv, tidb int) *Cluster {
	return with(map[topology.Kind]int{topology.PD: pd, topology.TiKV: tikv, topology.TiDB: tidb})
}

// NewFlash is the same with stores of TiFlash, which have the ids 51 + ordinal.
func NewFlash(pd, tikv, tiflash, tidb int) *Cluster {
	return with(map[topology.Kind]int{topology.PD: pd, topology.TiKV: tikv, topology.TiFlash: tiflash, topology.TiDB: tidb})
}

// NewProxies is the same as New with TiProxy.
func NewProxies(pd, tikv, tidb, tiproxy int) *Cluster {
	return with(map[topology.Kind]int{topology.PD: pd, topology.TiKV: tikv, topology.TiDB: tidb, topology.TiProxy: tiproxy})
}

func with(members map[topology.Kind]int) *Cluster {
	pd, tikv := members[topology.PD], members[topology.TiKV]
	c := &Cluster{}
	c.Wanted.Cluster = topology.Cluster{
		Namespace: "ns", Name: "t", Instance: "t", VolumePolicy: corev1.PersistentVolumeReclaimRetain,
	}
	c.Seen = state.Snapshot{At: Now, Groups: map[topology.Kind]state.Group{}}
	c.Seen.PD = state.PD{
		ClusterID: 7, Members: pd, Healthy: pd, Leader: "t-pd-0",
		Stores: tikv, UpStores: tikv, MaxReplicas: 3, Bootstrapped: tikv > 0, LeaderSince: Now.Add(-time.Hour),
	}
	for kind, n := range members {
		g := state.Group{Set: state.Set{
			Exists: true, UID: "set-" + string(kind), Observed: true, Replicas: n, Partition: n, UpdateRevision: "v1", CurrentRevision: "v1",
		}}
		if kind.Data() != topology.None {
			g.Set.Volumes = map[string]state.ClaimTemplate{kind.DataVolume(): {Size: 1 << 30}}
		}
		for i := range n {
			g.Members = append(g.Members, c.member(kind, i))
		}
		c.Seen.Groups[kind] = g
	}
	for _, kind := range topology.Kinds() {
		if _, ok := c.Seen.Groups[kind]; !ok {
			continue
		}
		g := desired.Group{Set: desired.Object{Kind: "StatefulSet", Name: c.Wanted.Cluster.SetName(kind)}}
		g.Kind, g.Replicas, g.MaxFailures = kind, c.Seen.Groups[kind].Set.Replicas, 3
		g.Services = []desired.Object{{Kind: "Service", Name: c.Wanted.Cluster.PeerService(kind)}}
		g.Config = []desired.Object{{Kind: "ConfigMap", Name: c.Wanted.Cluster.SetName(kind)}}
		if kind.Data() == topology.Store {
			g.EvictTimeout = new(time.Hour)
		}
		c.Wanted.Groups = append(c.Wanted.Groups, g)
	}
	return c
}

func (c *Cluster) member(kind topology.Kind, i int) state.Member {
	made := Now.Add(-time.Hour)
	m := state.Member{
		Kind: kind, Ordinal: i, Name: c.Wanted.Cluster.PodName(kind, i),
		Pod:      &state.Pod{UID: fmt.Sprintf("uid-%s-%d", kind, i), Revision: "v1", Ready: true, Ran: true, Since: made, Started: made},
		Database: state.Database{Presence: state.Present, Healthy: true},
	}
	if kind.Data() != topology.None {
		m.Claims = []state.Claim{{Name: fmt.Sprintf("%s-%s", kind, m.Name), UID: fmt.Sprintf("claim-%s-%d", kind, i)}}
		m.Database.ID = uint64(i + 1)
	}
	switch kind.Data() {
	case topology.Binlog:
		m.Database.ID, m.Database.Pump = 0, state.Pump{Node: m.Name + ":8250", State: state.PumpOnline}
	case topology.Raft:
		m.Database.ID += 100
		m.Database.Name, m.Database.Leader = m.Name, i == 0
	case topology.Store:
		m.Database.State, m.Database.Leaders, m.Database.Regions = state.StoreUp, 10, 30
		m.StoreLabels = map[string]string{}
	}
	if kind.Data() == topology.Store && kind.Optional() {
		m.Database.ID, m.Database.Leaders, m.StoreLabels = uint64(51+i), 0, map[string]string{"engine": "tiflash"}
	}
	c.identify(&m)
	return m
}

// identify gives the objects of a member the labels that upkeep would give them.
func (c *Cluster) identify(m *state.Member) {
	ids := func() state.Identity {
		labels := map[string]string{topology.LabelClusterID: "7"}
		id := strconv.FormatUint(m.Database.ID, 10)
		switch m.Kind.Data() {
		case topology.Raft:
			labels[topology.LabelMemberID] = id
		case topology.Store:
			labels[topology.LabelStoreID] = id
		}
		return state.Identity{Labels: labels}
	}
	m.Pod.Node, m.Pod.Identity = "node-"+strconv.Itoa(m.Ordinal), ids()
	for i := range m.Claims {
		claim := &m.Claims[i]
		named := map[string]string{topology.LabelPodName: m.Name}
		m.Pod.Claims = append(m.Pod.Claims, claim.Name)
		claim.Identity = ids()
		claim.Identity.Labels[topology.LabelPodName], claim.Identity.Annotations = m.Name, named
		claim.Volume = &state.Volume{
			Name: "pv-" + claim.Name, UID: "pv-" + claim.UID, Version: "1",
			Policy: string(c.Wanted.Cluster.VolumePolicy), Identity: ids(),
		}
		claim.Volume.Identity.Annotations = named
		maps.Copy(claim.Volume.Identity.Labels, c.Wanted.Cluster.Labels(m.Kind))
		claim.Volume.Identity.Labels[topology.LabelNamespace] = c.Wanted.Cluster.Namespace
	}
}

// Want changes what is wanted of a component.
func (c *Cluster) Want(kind topology.Kind) *desired.Group {
	for i := range c.Wanted.Groups {
		if c.Wanted.Groups[i].Kind == kind {
			return &c.Wanted.Groups[i]
		}
	}
	panic("plantest: no such component: " + string(kind))
}

// Set changes a component's StatefulSet.
func (c *Cluster) Set(kind topology.Kind, change func(*state.Set)) *Cluster {
	g := c.Seen.Groups[kind]
	change(&g.Set)
	c.Seen.Groups[kind] = g
	return c
}

// Member changes a member, given its pod's name.
func (c *Cluster) Member(name string) *state.Member {
	for _, g := range c.Seen.Groups {
		for i := range g.Members {
			if g.Members[i].Name == name {
				return &g.Members[i]
			}
		}
	}
	panic("plantest: no such member: " + name)
}

// Add adds a member above the StatefulSet's replicas: as it would be in a cluster that
// has converged, but without a pod.
func (c *Cluster) Add(kind topology.Kind) *state.Member {
	g := c.Seen.Groups[kind]
	m := c.member(kind, len(g.Members))
	m.Pod = nil
	m.Database.Healthy = false
	g.Members = append(g.Members, m)
	c.Seen.Groups[kind] = g
	return &g.Members[len(g.Members)-1]
}

// Volumes gives the members of PD or TiKV claims of a size, and the StatefulSet such a claim
// template; another size is wanted.
func (c *Cluster) Volumes(kind topology.Kind, have, want topology.Size) *Cluster {
	name := string(kind)
	c.Want(kind).Volumes = []topology.Volume{{Name: name, Size: want, Field: "spec." + name + ".requests.storage"}}
	c.Set(kind, func(s *state.Set) { s.Volumes = map[string]state.ClaimTemplate{name: {Size: have}} })
	for i := range c.Seen.Groups[kind].Members {
		for j := range c.Seen.Groups[kind].Members[i].Claims {
			claim := &c.Seen.Groups[kind].Members[i].Claims[j]
			claim.Template, claim.Bound, claim.Class, claim.Growth = name, true, "standard", state.Growable
			claim.Requested, claim.Capacity = have, have
		}
	}
	return c
}

// Roll makes v2 the update revision of a component; no pod has it yet.
func (c *Cluster) Roll(kind topology.Kind) *Cluster {
	return c.Set(kind, func(s *state.Set) { s.UpdateRevision = "v2" })
}

// Rolled gives pods the update revision of a Roll, and lowers the partition to the lowest of them.
func (c *Cluster) Rolled(kind topology.Kind, ordinals ...int) *Cluster {
	for _, i := range ordinals {
		c.Member(c.Wanted.Cluster.PodName(kind, i)).Pod.Revision = "v2"
		c.Set(kind, func(s *state.Set) { s.Partition = min(s.Partition, i) })
	}
	return c
}

// Down takes members down: their pods are not Ready since the given time ago,
// and the database knows that they do not serve.
func (c *Cluster) Down(ago time.Duration, names ...string) *Cluster {
	for _, name := range names {
		m := c.Member(name)
		m.Pod.Ready, m.Pod.Since, m.Pod.Started = false, Now.Add(-ago), time.Time{}
		m.Database.Healthy, m.NotServing, m.ReportedDown = false, Now.Add(-ago), Now.Add(-ago)
		switch m.Kind.Data() {
		case topology.Raft:
			c.Seen.PD.Healthy--
		case topology.Store:
			m.Database.State = state.StoreDisconnected
			c.oneLessUp(m)
		}
	}
	return c
}

// Evicting gives a store an evict-leader scheduler that we made some time ago.
func (c *Cluster) Evicting(name string, ago time.Duration, leaders int) *Cluster {
	m := c.Member(name)
	m.Database.Evicting, m.Database.Leaders = true, leaders
	return c.Recorded(name, ago)
}

// Recorded puts a store into the ledger.
func (c *Cluster) Recorded(name string, ago time.Duration) *Cluster {
	c.Seen.Evictions = append(c.Seen.Evictions, state.Eviction{
		StoreID: c.Member(name).Database.ID, Member: name, Since: Now.Add(-ago),
	})
	return c
}

// Removing makes a store Offline, with a record that we took it offline some time ago.
func (c *Cluster) Removing(name string, ago time.Duration) *Cluster {
	c.Seen.Removals = append(c.Seen.Removals, state.Removal{
		StoreID: c.Member(name).Database.ID, Member: name, Since: Now.Add(-ago),
	})
	return c.Offline(name)
}

// Offline makes a store Offline, without a record that we took it offline.
func (c *Cluster) Offline(name string) *Cluster {
	m := c.Member(name)
	m.Database.State, m.Database.Healthy = state.StoreOffline, false
	c.oneLessUp(m)
	return c
}

// oneLessUp counts a store out that is not Up any more: PD's numbers are of TiKV only.
func (c *Cluster) oneLessUp(m *state.Member) {
	if m.StoreLabels["engine"] == "" {
		c.Seen.PD.UpStores--
	}
}

// PDUnknown makes PD unknown.
func (c *Cluster) PDUnknown() *Cluster {
	c.Seen.PD = state.PD{Problem: "PD does not answer", ClusterID: 7}
	for _, kind := range []topology.Kind{topology.PD, topology.TiKV, topology.TiFlash} {
		for i := range c.Seen.Groups[kind].Members {
			c.Seen.Groups[kind].Members[i].Database = state.Database{}
		}
	}
	return c
}

// Unreached makes PD unknown because the named members cannot be asked: its leader, or a quorum.
func (c *Cluster) Unreached(names ...string) *Cluster {
	c.PDUnknown()
	c.Seen.PD.Problem, c.Seen.PD.Unreached = "PD's leader "+names[0]+" cannot be reached from here", names
	return c
}

// Decide decides, and panics if the decision is not sound. The process has just begun to
// observe, unless a test says otherwise.
func (c *Cluster) Decide() plan.Plan {
	for _, g := range c.Seen.Groups {
		for i := range g.Members {
			if m := &g.Members[i]; !m.Up() && m.NotServing.IsZero() {
				m.NotServing = Now
			}
			if m := &g.Members[i]; m.Denied() && m.ReportedDown.IsZero() {
				m.ReportedDown = m.NotServing
			}
			if m := &g.Members[i]; m.Database.Answer == state.Refused && m.Refusing.IsZero() {
				m.Refusing = m.NotServing
			}
			if m := &g.Members[i]; m.Database.Answer == state.NoAnswer && m.Silent.IsZero() {
				m.Silent = m.NotServing
			}
		}
	}
	return c.sound(plan.Decide(component.Profiles(), c.Policy, c.Wanted, c.Seen))
}

// Upkeep returns the steps of upkeep, one in each line.
func (c *Cluster) Upkeep() string {
	var lines []string
	for _, s := range c.Decide().Upkeep {
		lines = append(lines, s.String())
	}
	return strings.Join(lines, "\n")
}

// Text returns the decision as text: the outcome, then a line per step and per gate.
func (c *Cluster) Text() string { return Text(c.Decide()) }

// Text prints a plan.
func Text(p plan.Plan) string {
	lines := does(p)
	for _, g := range p.Gates {
		lines = append(lines, gate(g))
	}
	return strings.Join(lines, "\n")
}

// does returns the outcome, and a line per step.
func does(p plan.Plan) []string {
	lines := []string{p.Outcome.String()}
	for _, s := range p.Steps {
		line := s.String()
		if r, ok := s.(step.Restart); ok && r.Stuck {
			line += " (stuck)"
		}
		if a, ok := s.(step.AllowLeaders); ok && a.Returning {
			line += " (returning)"
		}
		lines = append(lines, line)
	}
	return lines
}

func gate(g plan.Gate) string {
	if g.Blocked {
		return "! " + g.String()
	}
	return "? " + g.String()
}

// Waits returns the decision with everything that is reported about each gate: since when, until
// when, where it is read from, and what a person can do.
func (c *Cluster) Waits() string {
	p := c.Decide()
	lines := does(p)
	for _, g := range p.Gates {
		lines = append(lines, gate(g))
		if !g.Since.IsZero() {
			lines = append(lines, "  since "+g.Since.Sub(Now).String())
		}
		if !g.Deadline.IsZero() {
			lines = append(lines, "  until "+g.Deadline.Sub(Now).String())
		}
		if g.Source == plan.FromDatabase {
			lines = append(lines, "  the database is asked")
		}
		if g.Remedy != nil {
			lines = append(lines, "  "+g.Remedy.Line(""))
		}
	}
	return strings.Join(lines, "\n")
}
