package hosts_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/hosts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// sight returns a cluster as it is seen.
func sight(c *plantest.Cluster) hosts.Sight {
	return hosts.Sight{Cluster: c.Wanted.Cluster, Snapshot: c.Seen}
}

// on puts members on a node. Each member of a new cluster is on node-<ordinal>.
func on(node string, names ...string) func(*plantest.Cluster) {
	return func(c *plantest.Cluster) {
		for _, name := range names {
			c.Member(name).Pod.Node = node
		}
	}
}

// zones gives stores a label by which PD spreads replicas.
func zones(values ...string) func(*plantest.Cluster) {
	return func(c *plantest.Cluster) {
		c.Seen.PD.LocationLabels = []string{"zone"}
		for i, z := range values {
			if z != "" {
				c.Member(c.Wanted.Cluster.PodName(topology.TiKV, i)).StoreLabels["zone"] = z
			}
		}
	}
}

// TestCheck: a host is taken down only where PD and each region keep a quorum, and leaders have a place
// to go to.
func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		cluster *plantest.Cluster
		change  []func(*plantest.Cluster)
		says    string // "" where the host may be taken down
	}{
		"one of three":                 {cluster: plantest.New(3, 3, 2)},
		"nothing on it":                {cluster: plantest.New(3, 3, 2), change: []func(*plantest.Cluster){on("node-9", "t-pd-0", "t-tikv-0", "t-tidb-0")}},
		"PD does not answer":           {cluster: plantest.New(3, 3, 2).PDUnknown(), says: "PD cannot be asked"},
		"a store elsewhere is down":    {cluster: plantest.New(3, 3, 2).Down(time.Hour, "t-tikv-2"), says: "other members do not serve: t-tikv-2"},
		"a member of PD is down":       {cluster: plantest.New(5, 3, 2).Down(time.Hour, "t-pd-3"), says: "t-pd-3"},
		"a server elsewhere is down":   {cluster: plantest.New(3, 3, 3).Down(time.Hour, "t-tidb-2"), says: "t-tidb-2"},
		"the store on it is down":      {cluster: plantest.New(3, 3, 2).Down(time.Hour, "t-tikv-0")},
		"the voter on it is down":      {cluster: plantest.New(3, 3, 2).Down(time.Hour, "t-pd-0")},
		"a far store is down":          {cluster: plantest.New(3, 3, 2), change: []func(*plantest.Cluster){func(c *plantest.Cluster) { c.Seen.PD.Stores++ }}, says: "PD does not call 1 store Up that is no member of this cluster"},
		"far voters are down":          {cluster: plantest.New(3, 3, 2), change: []func(*plantest.Cluster){func(c *plantest.Cluster) { c.Seen.PD.Members = 5 }}, says: "of which 2 would be healthy without t-pd-0"},
		"two of three voters":          {cluster: plantest.New(3, 3, 2), change: []func(*plantest.Cluster){on("node-0", "t-pd-1")}, says: "PD has 3 members, of which 1 would be healthy without t-pd-0, t-pd-1"},
		"two of five voters":           {cluster: plantest.New(5, 3, 2), change: []func(*plantest.Cluster){on("node-0", "t-pd-1")}},
		"the only voter":               {cluster: plantest.New(1, 3, 2), says: "PD has 1 member, of which 0 would be healthy without t-pd-0"},
		"one of two voters":            {cluster: plantest.New(2, 3, 2), says: "no quorum"},
		"nobody else here can lead PD": {cluster: plantest.New(1, 3, 2), change: []func(*plantest.Cluster){func(c *plantest.Cluster) { c.Seen.PD.Members, c.Seen.PD.Healthy = 3, 3 }}, says: "none could lead it"},
		"two of three stores":          {cluster: plantest.New(3, 3, 2), change: []func(*plantest.Cluster){on("node-0", "t-tikv-1")}, says: "2 of one could be on t-tikv-0, t-tikv-1"},
		"two stores, five copies":      {cluster: plantest.New(3, 5, 2), change: []func(*plantest.Cluster){on("node-0", "t-tikv-1"), func(c *plantest.Cluster) { c.Seen.PD.MaxReplicas = 5 }}},
		"two stores of one zone":       {cluster: plantest.New(3, 4, 2), change: []func(*plantest.Cluster){on("node-0", "t-tikv-1"), zones("a", "a", "b", "c")}},
		"two stores of two zones":      {cluster: plantest.New(3, 4, 2), change: []func(*plantest.Cluster){on("node-0", "t-tikv-1"), zones("a", "b", "c", "c")}, says: "2 of one could be on"},
		"two stores, and two zones":    {cluster: plantest.New(3, 4, 2), change: []func(*plantest.Cluster){on("node-0", "t-tikv-1"), zones("a", "a", "b", "b")}, says: "2 of one could be on"},
		"a store without a zone":       {cluster: plantest.New(3, 5, 2), change: []func(*plantest.Cluster){on("node-0", "t-tikv-1"), zones("a", "a", "b", "c", "")}, says: "2 of one could be on"},
		"one copy":                     {cluster: plantest.New(3, 3, 2), change: []func(*plantest.Cluster){func(c *plantest.Cluster) { c.Seen.PD.MaxReplicas = 1 }}, says: "PD keeps 1 copy"},
		"two copies":                   {cluster: plantest.New(3, 3, 2), change: []func(*plantest.Cluster){func(c *plantest.Cluster) { c.Seen.PD.MaxReplicas = 2 }}, says: "PD keeps 2 copies"},
		"the others are evicted": {cluster: plantest.New(3, 3, 2), change: []func(*plantest.Cluster){func(c *plantest.Cluster) {
			c.Member("t-tikv-1").Database.Evicting, c.Member("t-tikv-2").Database.Evicting = true, true
		}}, says: "no store on another host may lead regions"},
		"schedulers are not loaded": {cluster: plantest.New(3, 3, 2), change: []func(*plantest.Cluster){func(c *plantest.Cluster) { c.Seen.PD.SchedulersUnknown = true }}, says: "has not loaded its schedulers"},
		"PD moves no leaders":       {cluster: plantest.New(3, 3, 2), change: []func(*plantest.Cluster){func(c *plantest.Cluster) { c.Seen.PD.Scheduling.NoLeaders = true }}, says: "leader-schedule-limit is 0"},
		"an import runs":            {cluster: plantest.New(3, 3, 2), change: []func(*plantest.Cluster){func(c *plantest.Cluster) { c.Seen.PD.Scheduling.Denied = []string{"a"} }}, says: "the region label a"},
		"PD moves no leaders, and it has none": {cluster: plantest.New(3, 3, 2), change: []func(*plantest.Cluster){func(c *plantest.Cluster) {
			c.Seen.PD.Scheduling.NoLeaders, c.Member("t-tikv-0").Database.Leaders = true, 0
		}}},
		"a run was interrupted": {cluster: plantest.New(3, 3, 2).Evicting("t-tikv-2", time.Minute, 0), says: "evicted region leaders from t-tikv-2"},
		"a person's scheduler": {cluster: plantest.New(3, 3, 2).Evicting("t-tikv-2", time.Minute, 0), change: []func(*plantest.Cluster){func(c *plantest.Cluster) {
			c.Seen.Evictions[0].Foreign = true
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, change := range c.change {
				change(c.cluster)
			}
			got := hosts.Host{Name: "node-0"}.Check([]hosts.Sight{sight(c.cluster)}, nil)
			switch {
			case c.says == "" && len(got) > 0:
				t.Errorf("refused: %+v", got)
			case c.says != "" && (len(got) != 1 || !strings.Contains(got[0].Text, c.says) || len(got[0].Remedy) == 0):
				t.Errorf("%+v; want %q", got, c.says)
			}
		})
	}
}

// TestSeveralClusters: each cluster that refuses is named, and stores of one PD count together.
func TestSeveralClusters(t *testing.T) {
	other := func(id uint64) *plantest.Cluster {
		c := plantest.New(3, 3, 2)
		c.Wanted.Cluster.Name, c.Seen.PD.ClusterID = "u", id
		return c
	}
	host := hosts.Host{Name: "node-0"}
	if got := host.Check([]hosts.Sight{sight(plantest.New(3, 3, 2)), sight(other(8))}, nil); len(got) > 0 {
		t.Errorf("refused: %+v", got)
	}
	if got := host.Check([]hosts.Sight{sight(plantest.New(1, 3, 2)), sight(other(8).PDUnknown())}, nil); len(got) != 2 {
		t.Errorf("%+v; want one for each cluster", got)
	}
	one, two := plantest.New(3, 3, 2), other(7)
	two.Seen.Groups[topology.PD] = state.Group{}
	one.Seen.PD.Stores, one.Seen.PD.UpStores = 6, 6
	two.Seen.PD = one.Seen.PD
	if got := host.Check([]hosts.Sight{sight(one), sight(two)}, nil); len(got) != 2 || !strings.Contains(got[0].Text, "2 of one could be on t-tikv-0, t-tikv-0") {
		t.Errorf("stores of the same PD: %+v", got)
	}
}

// TestStops: only a service that no other host has stops.
func TestStops(t *testing.T) {
	host := hosts.Host{Name: "node-0"}
	if got := host.Stops(sight(plantest.NewProxies(3, 3, 2, 2))); got != nil {
		t.Errorf("%q", got)
	}
	got := host.Stops(sight(plantest.NewProxies(3, 3, 1, 1)))
	if len(got) != 2 || !strings.HasPrefix(got[0], "TiDB serves on no other host: ") || !strings.HasPrefix(got[1], "TiProxy serves") {
		t.Errorf("%q", got)
	}
}

// TestOf: a record is read as it was written, and one that cannot be read is no missing one.
func TestOf(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	if h, err := hosts.Of(node); err != nil || h.Record != nil {
		t.Errorf("%+v, %v", h, err)
	}
	r := hosts.Record{Since: plantest.Now, By: "ann@desk", Cordoned: true, Clusters: []hosts.Cluster{{Namespace: "a", Name: "b", Members: []string{"c"}, Evicting: []uint64{1}}}}
	node.Annotations, node.Spec.Unschedulable = map[string]string{hosts.Annotation: r.JSON()}, true
	if h, err := hosts.Of(node); err != nil || h.Record.JSON() != r.JSON() || !h.Cordoned {
		t.Errorf("%+v, %v", h, err)
	}
	node.Annotations[hosts.Annotation] = "yes"
	if _, err := hosts.Of(node); err == nil {
		t.Error("a record that cannot be read is taken for none")
	}
}
