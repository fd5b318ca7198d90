package hosts_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/hosts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// texts returns actions in words.
func texts(actions []hosts.Action) string {
	var all []string
	for _, a := range actions {
		text := strings.TrimPrefix(fmt.Sprintf("%T", a), "hosts.")
		switch a := a.(type) {
		case hosts.Write:
			text += fmt.Sprintf(" cordoned=%t", a.Record.Cordoned)
			for _, c := range a.Record.Clusters {
				text += fmt.Sprintf(" %s%v%v", c, c.Members, c.Evicting)
			}
		case hosts.Mark:
			text += fmt.Sprintf(" %s %s %s%v", a.Cluster, a.Maintenance.Node, a.Maintenance.By, a.Maintenance.Evicting)
		case hosts.Unmark:
			text += fmt.Sprintf(" %s %s", a.Cluster, a.Node)
		case hosts.MoveLeader:
			text += fmt.Sprintf(" %s: %s to %s", a.Cluster, a.Step.From, a.Step.To)
		case hosts.Evict:
			text += fmt.Sprintf(" %s %d", a.Cluster, a.Store)
		case hosts.Allow:
			text += fmt.Sprintf(" %s %d", a.Cluster, a.Store)
		case hosts.Await:
			text += fmt.Sprintf(" %s%v", a.Cluster, a.Cluster.Members)
		}
		all = append(all, text)
	}
	return strings.Join(all, "\n")
}

// TestStart: the record is written before anything is done, and has what is done now or was done by an
// earlier start, but nothing that others have done: a stop would take that back.
func TestStart(t *testing.T) {
	const members = "[t-pd-1 t-tikv-1 t-tidb-1]"
	led := func() *plantest.Cluster { return plantest.New(3, 3, 2) } // by t-pd-0, which is on node-0
	evicted := led()
	evicted.Member("t-tikv-1").Database.Evicting = true
	marked := led()
	marked.Wanted.Cluster.Maintained = []topology.Maintenance{{Node: "node-1", Evicting: []uint64{2}}}
	known := led()
	known.Member("t-tikv-1").Database.Evicting = true
	known.Wanted.Cluster.Maintained = marked.Wanted.Cluster.Maintained
	older := led()
	older.Wanted.Cluster.Maintained = []topology.Maintenance{{Node: "node-1"}}
	other := led()
	other.Wanted.Cluster.Name, other.Seen.PD.ClusterID = "u", 8
	begun := hosts.Cluster{Namespace: "ns", Name: "t", Members: []string{"t-pd-1", "t-tikv-1", "t-tidb-1"}, Evicting: []uint64{2}}
	for _, c := range []struct {
		name   string
		host   hosts.Host
		sights []hosts.Sight
		want   string
	}{
		{"a node", hosts.Host{Name: "node-1"}, []hosts.Sight{sight(led())},
			"Write cordoned=true ns/t" + members + "[2]\nMark ns/t node-1 ann@desk[2]\nCordon\nEvict ns/t 2"},
		{"that a person has cordoned", hosts.Host{Name: "node-1", Cordoned: true}, []hosts.Sight{sight(led())},
			"Write cordoned=false ns/t" + members + "[2]\nMark ns/t node-1 ann@desk[2]\nEvict ns/t 2"},
		{"with a person's scheduler", hosts.Host{Name: "node-1"}, []hosts.Sight{sight(evicted)},
			"Write cordoned=true ns/t" + members + "[]\nMark ns/t node-1 ann@desk[]\nCordon"},
		{"with PD's leader, which moves before anything else is done in PD", hosts.Host{Name: "node-0"}, []hosts.Sight{sight(led())},
			"Write cordoned=true ns/t[t-pd-0 t-tikv-0 t-tidb-0][1]\nMark ns/t node-0 ann@desk[1]\nCordon\nMoveLeader ns/t: t-pd-0 to t-pd-1"},
		{"a start that was killed after the record", hosts.Host{Name: "node-1", Record: &hosts.Record{Since: plantest.Now, Cordoned: true, Clusters: []hosts.Cluster{begun}}},
			[]hosts.Sight{sight(led())}, "Mark ns/t node-1 [2]\nCordon\nEvict ns/t 2"},
		{"a start that was killed after the mark", hosts.Host{Name: "node-1", Record: &hosts.Record{Since: plantest.Now, Cordoned: true, Clusters: []hosts.Cluster{begun}}},
			[]hosts.Sight{sight(marked)}, "Cordon\nEvict ns/t 2"},
		{"a start that was killed after the scheduler", hosts.Host{Name: "node-1", Cordoned: true, Record: &hosts.Record{Since: plantest.Now, Cordoned: true, Clusters: []hosts.Cluster{begun}}},
			[]hosts.Sight{sight(known)}, ""},
		{"a start that was killed before the mark had stores", hosts.Host{Name: "node-1", Cordoned: true, Record: &hosts.Record{Since: plantest.Now, Cordoned: true, Clusters: []hosts.Cluster{begun}}},
			[]hosts.Sight{sight(older)}, "Mark ns/t node-1 [2]\nEvict ns/t 2"},
		{"whose record was lost, and not what was done", hosts.Host{Name: "node-1"}, []hosts.Sight{sight(known)},
			"Write cordoned=true ns/t" + members + "[2]\nCordon"},
		{"two clusters", hosts.Host{Name: "node-1"}, []hosts.Sight{sight(led()), sight(other)},
			"Write cordoned=true ns/t" + members + "[2] ns/u" + members + "[2]\nMark ns/t node-1 ann@desk[2]\nMark ns/u node-1 ann@desk[2]\nCordon\nEvict ns/t 2\nEvict ns/u 2"},
		{"nothing on it", hosts.Host{Name: "node-9", Cordoned: true, Record: &hosts.Record{Since: plantest.Now}}, nil, ""},
	} {
		if got := texts(c.host.Start(c.sights, "ann@desk", plantest.Now)); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestStop: what the record names is taken back, in an order in which a process may be killed anywhere, and
// nothing else.
func TestStop(t *testing.T) {
	c := hosts.Cluster{Namespace: "ns", Name: "t", Members: []string{"t-tikv-1"}, Evicting: []uint64{2}}
	record := func(cordoned bool) *hosts.Record {
		return &hosts.Record{Since: plantest.Now, Cordoned: cordoned, Clusters: []hosts.Cluster{c}}
	}
	for _, c := range []struct {
		name string
		host hosts.Host
		want string
	}{
		{"not under maintenance", hosts.Host{Name: "node-1", Cordoned: true}, ""},
		{"all of it", hosts.Host{Name: "node-1", Cordoned: true, Record: record(true)},
			"Uncordon\nWrite cordoned=false ns/t[t-tikv-1][2]\nAwait ns/t[t-tikv-1]\nAllow ns/t 2\nUnmark ns/t node-1\nForget"},
		{"a node that a person has uncordoned", hosts.Host{Name: "node-1", Record: record(true)},
			"Write cordoned=false ns/t[t-tikv-1][2]\nAwait ns/t[t-tikv-1]\nAllow ns/t 2\nUnmark ns/t node-1\nForget"},
		{"a node that was cordoned before", hosts.Host{Name: "node-1", Cordoned: true, Record: record(false)},
			"Await ns/t[t-tikv-1]\nAllow ns/t 2\nUnmark ns/t node-1\nForget"},
	} {
		if got := texts(c.host.Stop()); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestMarked: where the record was lost with its Node, what clusters are marked with is taken back, for all of them.
func TestMarked(t *testing.T) {
	c, d, e := plantest.New(3, 3, 2).Wanted.Cluster, plantest.New(3, 3, 2).Wanted.Cluster, plantest.New(3, 3, 2).Wanted.Cluster
	d.Name, e.Name = "u", "v"
	c.Maintained = []topology.Maintenance{{Node: "node-2", By: "bob"}, {Node: "node-1", By: "ann", Since: plantest.Now, Evicting: []uint64{2}}}
	d.Maintained = []topology.Maintenance{{Node: "node-1", By: "ann", Since: plantest.Now}}
	all := hosts.Marked([]topology.Cluster{c, d, e})
	if len(all) != 2 || all[0].Name != "node-1" || all[0].Record.By != "ann" || !all[0].Record.Since.Equal(plantest.Now) || all[1].Name != "node-2" {
		t.Fatalf("%+v", all)
	}
	for i, want := range []string{"Allow ns/t 2\nUnmark ns/t node-1\nUnmark ns/u node-1", "Unmark ns/t node-2"} {
		if got := texts(all[i].Stop()); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", all[i].Name, got, want)
		}
	}
}

// TestOneAtATime: a node that may be rebooted at any time counts as down for the clusters with members on it.
func TestOneAtATime(t *testing.T) {
	c := plantest.New(5, 5, 2)
	c.Wanted.Cluster.Namespace = "ns"
	under := func(name string, of hosts.Cluster) hosts.Host {
		return hosts.Host{Name: name, Record: &hosts.Record{Since: plantest.Now, By: "ann@desk", Clusters: []hosts.Cluster{of}}}
	}
	same, foreign := hosts.Cluster{Namespace: "ns", Name: "t"}, hosts.Cluster{Namespace: "ns", Name: "v"}
	host := hosts.Host{Name: "node-1"}
	got := host.Check([]hosts.Sight{sight(c)}, []hosts.Host{{Name: "node-3"}, under("node-0", same)})
	if len(got) != 1 || !strings.Contains(got[0].Text, "node node-0 is under maintenance since 2026-") || len(got[0].Remedy) == 0 {
		t.Errorf("%+v", got)
	}
	if got := host.Check([]hosts.Sight{sight(c)}, []hosts.Host{under("node-1", same), under("node-2", foreign)}); len(got) > 0 {
		t.Errorf("refused by itself or by a node without members of it: %+v", got)
	}
}
