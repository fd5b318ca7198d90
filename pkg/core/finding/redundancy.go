package finding

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/placement"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// copies is the number of copies of a region with which one may be lost.
const copies = 3

// grow returns the command that makes a component larger.
func (l Look) grow(k topology.Kind, to int) remedy.Remedy {
	return remedy.Remedy{remedy.Run("add members", l.Wanted.Cluster.Plugin("scale", fmt.Sprintf("%s=%d", k, to)))}
}

// groups returns the components that are to have members, of a kind of data.
func (l Look) groups(data topology.Data) []desired.Group {
	return slices.DeleteFunc(slices.Clone(l.Wanted.Groups), func(g desired.Group) bool {
		return g.Kind.Data() != data || g.Kind.Optional() || g.Suspend
	})
}

// voting returns how many members PD has, in all Kubernetes clusters where that is known.
func (l Look) voting(g desired.Group) int {
	if l.Snapshot.PD.Known() && l.Snapshot.PD.Members > 0 {
		return l.Snapshot.PD.Members
	}
	return g.Size()
}

func oneVoter(l Look) []Finding {
	var all []Finding
	for _, g := range l.groups(topology.Raft) {
		if n := l.voting(g); n == 1 {
			all = append(all, Finding{Component: g.Kind, Seen: "it has one member", Remedy: l.grow(g.Kind, g.Size()+state.MoreVoters(n)-n)})
		}
	}
	return all
}

func evenVoters(l Look) []Finding {
	var all []Finding
	for _, g := range l.groups(topology.Raft) {
		if n := l.voting(g); n > 0 && n%2 == 0 {
			all = append(all, Finding{Component: g.Kind, Seen: "it has " + remedy.Count(n, "member", "members"), Remedy: l.grow(g.Kind, g.Size()+state.MoreVoters(n)-n)})
		}
	}
	return all
}

func oneServer(l Look) []Finding {
	var all []Finding
	for _, g := range l.groups(topology.None) {
		if g.Size() == 1 {
			all = append(all, Finding{Component: g.Kind, Seen: "it has one member", Remedy: l.grow(g.Kind, 2)})
		}
	}
	return all
}

// onStores returns a finding about the stores as a whole, where PD has said what it has.
func (l Look) onStores(found bool, seen string, fix func(desired.Group) remedy.Remedy) []Finding {
	groups := l.groups(topology.Store)
	if !found || !l.Snapshot.PD.Known() || !l.Snapshot.PD.Bootstrapped || len(groups) == 0 {
		return nil
	}
	return []Finding{{Component: groups[0].Kind, Seen: seen, Remedy: fix(groups[0])}}
}

func fewStores(l Look) []Finding {
	pd := l.Snapshot.PD
	return l.onStores(pd.Stores < pd.MaxReplicas, fmt.Sprintf("%s, and max-replicas is %d", remedy.Count(pd.Stores, "store", "stores"), pd.MaxReplicas),
		func(g desired.Group) remedy.Remedy { return l.grow(g.Kind, g.Size()+pd.MaxReplicas-pd.Stores) })
}

func noSpare(l Look) []Finding {
	pd := l.Snapshot.PD
	return l.onStores(pd.Stores == pd.MaxReplicas, remedy.Count(pd.Stores, "store", "stores")+", as many as max-replicas",
		func(g desired.Group) remedy.Remedy { return l.grow(g.Kind, g.Size()+1) })
}

func fewCopies(l Look) []Finding {
	pd := l.Snapshot.PD
	return l.onStores(pd.MaxReplicas > 0 && pd.MaxReplicas < copies, fmt.Sprintf("max-replicas is %d", pd.MaxReplicas),
		func(desired.Group) remedy.Remedy {
			return remedy.Remedy{remedy.Run("with at least three stores", l.pdCtl(fmt.Sprintf("config set max-replicas %d", copies)))}
		})
}

func (l Look) pdCtl(words string) remedy.Command {
	return plan.PDCtl(l.Wanted.Cluster, l.Snapshot, words)
}

// hosted returns the members of a component by the node that their pods run on.
func (l Look) hosted(k topology.Kind) map[string][]state.Member {
	by := map[string][]state.Member{}
	for _, m := range l.Snapshot.Groups[k].InSet() {
		if m.Pod != nil && m.Pod.Node != "" {
			by[m.Pod.Node] = append(by[m.Pod.Node], m)
		}
	}
	return by
}

// shared returns the nodes with several members that are too many, with these.
func shared(by map[string][]state.Member, tooMany func([]state.Member) bool) []string {
	var all []string
	for _, node := range slices.Sorted(maps.Keys(by)) {
		if len(by[node]) < 2 || !tooMany(by[node]) {
			continue
		}
		var names []string
		for _, m := range by[node] {
			names = append(names, m.Name)
		}
		all = append(all, fmt.Sprintf("node %s has %s", node, strings.Join(names, ", ")))
	}
	return all
}

// spread says how pods come to be on other nodes.
func (l Look) spread(k topology.Kind) remedy.Remedy {
	return remedy.Remedy{remedy.Run(fmt.Sprintf("spread them, with spec.%s.topologySpreadConstraints or affinity", k),
		l.Wanted.Cluster.Kubectl("edit", "tidbclusters", l.Wanted.Cluster.Name))}
}

// sharedNodes are nodes with several stores, where PD may have two copies of a region on one of them.
func sharedNodes(l Look) []Finding {
	var found []Finding
	for _, g := range l.groups(topology.Store) {
		all := state.Stores(l.Snapshot.Groups[g.Kind].InSet())
		nodes := shared(l.hosted(g.Kind), func(on []state.Member) bool { return placement.Together(state.Stores(on), all, l.Snapshot.PD) > 1 })
		if len(nodes) > 0 && l.Snapshot.PD.Known() {
			found = append(found, Finding{Component: g.Kind, Seen: some(nodes), Remedy: l.spread(g.Kind)})
		}
	}
	return found
}

// sharedVoters are nodes without which PD has no quorum.
func sharedVoters(l Look) []Finding {
	var all []Finding
	for _, g := range l.groups(topology.Raft) {
		n := l.voting(g)
		nodes := shared(l.hosted(g.Kind), func(on []state.Member) bool { return len(on) > n-(n/2+1) })
		if n > 1 && len(nodes) > 0 {
			all = append(all, Finding{Component: g.Kind, Seen: some(nodes), Remedy: l.spread(g.Kind)})
		}
	}
	return all
}

// zone is the label of stores that has their zone, in its shorter form.
const zone = "zone"

// zones returns the zones of the stores, and whether all of them are known.
func (l Look) zones(k topology.Kind) (zones []string, known bool) {
	for node := range l.hosted(k) {
		at := facts.Located(l.Snapshot.Nodes[node], zone)
		if at == "" {
			return nil, false
		}
		if !slices.Contains(zones, at) {
			zones = append(zones, at)
		}
	}
	slices.Sort(zones)
	return zones, len(zones) > 0
}

func oneZone(l Look) []Finding {
	var all []Finding
	for _, g := range l.groups(topology.Store) {
		if zones, known := l.zones(g.Kind); known && len(zones) == 1 && len(l.hosted(g.Kind)) > 1 {
			all = append(all, Finding{Component: g.Kind, Seen: "all stores are in zone " + zones[0], Remedy: l.spread(g.Kind)})
		}
	}
	return all
}

func noLocations(l Look) []Finding {
	return l.acrossZones(func(pd state.PD) bool { return len(pd.LocationLabels) == 0 }, "location-labels is empty",
		func(topology.Kind) remedy.Action {
			return remedy.Run("have PD spread copies by zones and hosts", l.pdCtl("config set location-labels zone,host"))
		})
}

func noIsolation(l Look) []Finding {
	return l.acrossZones(func(pd state.PD) bool { return len(pd.LocationLabels) > 0 && pd.IsolationLevel == "" }, "isolation-level is empty",
		func(k topology.Kind) remedy.Action {
			return remedy.Run("forbid it, where there are enough zones with enough stores", l.pdCtl("config set isolation-level "+l.zoneLabel(k)))
		})
}

// zoneLabel returns the location label that has the zones of the stores; the widest one where none has.
// A level that is no location label would mean the widest one to PD, whatever its name says.
func (l Look) zoneLabel(k topology.Kind) string {
	labels := l.Snapshot.PD.LocationLabels
	for _, key := range labels {
		other := slices.ContainsFunc(slices.Collect(maps.Keys(l.hosted(k))), func(node string) bool {
			at := l.Snapshot.Nodes[node]
			return facts.Located(at, key) != facts.Located(at, zone)
		})
		if !other {
			return key
		}
	}
	return labels[0]
}

// acrossZones returns a finding about PD's settings where stores are in several zones.
func (l Look) acrossZones(found func(state.PD) bool, seen string, fix func(topology.Kind) remedy.Action) []Finding {
	var all []Finding
	for _, g := range l.groups(topology.Store) {
		zones, known := l.zones(g.Kind)
		if known && len(zones) > 1 && l.Snapshot.PD.Known() && found(l.Snapshot.PD) {
			all = append(all, Finding{
				Component: g.Kind, Seen: fmt.Sprintf("stores are in the zones %s, and PD's %s", strings.Join(zones, ", "), seen), Remedy: remedy.Remedy{fix(g.Kind)},
			})
		}
	}
	return all
}

func rulesOff(l Look) []Finding {
	var all []Finding
	for _, g := range l.Wanted.Groups {
		if l.Snapshot.PD.Known() && l.Snapshot.PD.RulesDisabled && g.Kind.Data() == topology.Store && g.Kind.Optional() && !g.Suspend {
			all = append(all, Finding{
				Component: g.Kind, Seen: "replication.enable-placement-rules is false in PD",
				Remedy: remedy.Remedy{remedy.Run("enable them", l.pdCtl("config placement-rules enable"))},
			})
		}
	}
	return all
}
