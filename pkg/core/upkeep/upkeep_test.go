package upkeep_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// with returns a cluster that has converged, but for some changes.
func with(changes ...func(c *plantest.Cluster)) *plantest.Cluster {
	c := plantest.New(3, 4, 3)
	for _, change := range changes {
		change(c)
	}
	return c
}

// upkeepOf compares the steps of upkeep with the expected ones.
func upkeepOf(t *testing.T, cases map[string]struct {
	change func(c *plantest.Cluster)
	want   string
}) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := with(tc.change).Upkeep(); got != tc.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tc.want)
			}
		})
	}
}

func volumeOf(c *plantest.Cluster, member string) *state.Volume {
	return c.Member(member).Claims[0].Volume
}

func TestVolumes(t *testing.T) {
	upkeepOf(t, map[string]struct {
		change func(c *plantest.Cluster)
		want   string
	}{
		"converged": {func(*plantest.Cluster) {}, ""},
		"another policy": {func(c *plantest.Cluster) { volumeOf(c, "t-tikv-1").Policy = "Delete" },
			"set the reclaim policy of volume pv-tikv-t-tikv-1 to Retain"},
		"another policy of a volume, and a claim before it has none": {func(c *plantest.Cluster) {
			m := c.Member("t-tikv-1")
			m.Claims = append([]state.Claim{m.Claims[0]}, m.Claims...)
			m.Claims[0].Volume, m.Claims[0].Name = nil, "log"
			volume := *m.Claims[1].Volume
			m.Claims[1].Volume, volume.Policy = &volume, "Delete"
		}, "set the reclaim policy of volume pv-tikv-t-tikv-1 to Retain"},
		"another policy is wanted": {func(c *plantest.Cluster) {
			c.Wanted.Cluster.VolumePolicy = "Delete"
			for _, name := range []string{"t-pd-0", "t-pd-1", "t-pd-2", "t-tikv-0", "t-tikv-1", "t-tikv-2"} {
				volumeOf(c, name).Policy = "Delete"
			}
		}, "set the reclaim policy of volume pv-tikv-t-tikv-3 to Delete"},
		"pd-A10 tidb-S10 tikv-11-46: a volume that is missing is left out, the next one is tended": {func(c *plantest.Cluster) {
			c.Member("t-pd-0").Claims[0].Volume = nil
			volumeOf(c, "t-pd-1").Policy = "Delete"
		}, "set the reclaim policy of volume pv-pd-t-pd-1 to Retain"},
		"the policy of a claim that is about to be given up": {func(c *plantest.Cluster) {
			c.Wanted.Cluster.Reclaims = true
			m := c.Member("t-tikv-3")
			m.Claims[0].Marked, m.Claims[0].Volume.Policy = true, "Delete"
		}, ""},
		"the policy of a marked claim that stays": {func(c *plantest.Cluster) {
			m := c.Member("t-tikv-3")
			m.Claims[0].Marked, m.Claims[0].Volume.Policy = true, "Delete"
		}, "set the reclaim policy of volume pv-tikv-t-tikv-3 to Retain"},
		"claims are given up, but not this one": {func(c *plantest.Cluster) {
			c.Wanted.Cluster.Reclaims = true
			volumeOf(c, "t-tikv-3").Policy = "Delete"
		}, "set the reclaim policy of volume pv-tikv-t-tikv-3 to Retain"},
		"no policy is asked for": {func(c *plantest.Cluster) {
			c.Wanted.Cluster.VolumePolicy = ""
			volumeOf(c, "t-tikv-3").Policy = "Delete"
		}, ""},
		"a claim that is going": {func(c *plantest.Cluster) {
			m := c.Member("t-tikv-3")
			m.Claims[0].Terminating, m.Claims[0].Volume.Policy = true, "Delete"
		}, ""},
		"the claims of TiDB, too": {func(c *plantest.Cluster) {
			c.Member("t-tidb-0").Claims = []state.Claim{{Name: "tidb-log-t-tidb-0", UID: "u", Identity: state.Identity{
				Labels:      map[string]string{topology.LabelClusterID: "7", topology.LabelPodName: "t-tidb-0"},
				Annotations: map[string]string{topology.LabelPodName: "t-tidb-0"},
			}, Volume: &state.Volume{Name: "pv-log"}}}
		}, "set the reclaim policy of volume pv-log to Retain"},
	})
}

func TestLabels(t *testing.T) {
	clear := func(i *state.Identity) { *i = state.Identity{} }
	upkeepOf(t, map[string]struct {
		change func(c *plantest.Cluster)
		want   string
	}{
		"a PD pod": {func(c *plantest.Cluster) { clear(&c.Member("t-pd-1").Pod.Identity) },
			"label pod t-pd-1: tidb.pingcap.com/cluster-id=7, tidb.pingcap.com/member-id=102"},
		"a TiDB pod has no id in PD": {func(c *plantest.Cluster) { clear(&c.Member("t-tidb-1").Pod.Identity) },
			"label pod t-tidb-1: tidb.pingcap.com/cluster-id=7"},
		"a claim and its volume": {func(c *plantest.Cluster) {
			clear(&c.Member("t-tikv-2").Claims[0].Identity)
			clear(&volumeOf(c, "t-tikv-2").Identity)
		}, "label persistentvolumeclaim tikv-t-tikv-2: tidb.pingcap.com/cluster-id=7, tidb.pingcap.com/pod-name=t-tikv-2, " +
			"tidb.pingcap.com/store-id=3, annotations tidb.pingcap.com/pod-name=t-tikv-2\n" +
			"label volume pv-tikv-t-tikv-2: app.kubernetes.io/component=tikv, app.kubernetes.io/instance=t, " +
			"app.kubernetes.io/managed-by=tidb-operator, app.kubernetes.io/name=tidb-cluster, app.kubernetes.io/namespace=ns, " +
			"tidb.pingcap.com/cluster-id=7, tidb.pingcap.com/store-id=3, annotations tidb.pingcap.com/pod-name=t-tikv-2"},
		"tikv-11-9: a store id that is stale is corrected": {func(c *plantest.Cluster) {
			c.Member("t-tikv-2").Pod.Identity.Labels[topology.LabelStoreID] = "77"
		}, "label pod t-tikv-2: tidb.pingcap.com/store-id=3"},
		"the id of another cluster, of a store that PD knows": {func(c *plantest.Cluster) {
			c.Member("t-tikv-2").Claims[0].Identity.Labels[topology.LabelClusterID] = "8"
		}, "label persistentvolumeclaim tikv-t-tikv-2: tidb.pingcap.com/cluster-id=7"},
		"the id of another cluster, of a store that PD does not know": {func(c *plantest.Cluster) {
			m := c.Member("t-tikv-2")
			m.Claims[0].Identity.Labels[topology.LabelClusterID], m.Database = "8", state.Database{Presence: state.Absent}
		}, ""},
		"pd-A11 tikv-11-45 tidb-B30: an instance that is not the cluster's name": {func(c *plantest.Cluster) {
			c.Wanted.Cluster.Instance = "release-7"
			c.Wanted.Groups = c.Wanted.Groups[2:]
			c.Member("t-tidb-0").Claims = []state.Claim{{Name: "tidb-log-t-tidb-0", UID: "u", Identity: state.Identity{
				Labels:      map[string]string{topology.LabelClusterID: "7", topology.LabelPodName: "t-tidb-0"},
				Annotations: map[string]string{topology.LabelPodName: "t-tidb-0"},
			}, Volume: &state.Volume{Name: "pv-log", Policy: "Retain", Identity: state.Identity{
				Labels: map[string]string{
					topology.LabelNamespace: "ns", topology.LabelName: "tidb-cluster", topology.LabelManagedBy: "tidb-operator",
					topology.LabelComponent: "tidb", topology.LabelClusterID: "7", topology.LabelInstance: "t",
				},
				Annotations: map[string]string{topology.LabelPodName: "t-tidb-0"},
			}}}}
		}, "label volume pv-log: app.kubernetes.io/instance=release-7"},
		"tidb-S11: without PD only what is known": {func(c *plantest.Cluster) {
			c.PDUnknown()
			c.Seen.PD.ClusterID = 0
			clear(&c.Member("t-tikv-2").Pod.Identity)
			clear(&c.Member("t-tikv-2").Claims[0].Identity)
		}, "label persistentvolumeclaim tikv-t-tikv-2: tidb.pingcap.com/pod-name=t-tikv-2, annotations tidb.pingcap.com/pod-name=t-tikv-2"},
		"a store that has yet to register keeps the label it has": {func(c *plantest.Cluster) {
			c.Member("t-tikv-2").Database = state.Database{Presence: state.Absent}
		}, ""},
		"the very first store": {func(c *plantest.Cluster) { clear(&c.Member("t-tikv-0").Pod.Identity) },
			"label pod t-tikv-0: tidb.pingcap.com/cluster-id=7, tidb.pingcap.com/store-id=1"},
		"an id where the component has no label for it": {func(c *plantest.Cluster) {
			clear(&c.Member("t-tidb-1").Pod.Identity)
			c.Member("t-tidb-1").Database.ID = 5
		}, "label pod t-tidb-1: tidb.pingcap.com/cluster-id=7"},
		"an id of what PD has forgotten": {func(c *plantest.Cluster) {
			clear(&c.Member("t-tikv-2").Pod.Identity)
			c.Member("t-tikv-2").Database = state.Database{Presence: state.Absent, ID: 3}
		}, "label pod t-tikv-2: tidb.pingcap.com/cluster-id=7"},
		"PD knows it, and its id is unknown": {func(c *plantest.Cluster) {
			clear(&c.Member("t-tikv-2").Pod.Identity)
			c.Member("t-tikv-2").Database.ID = 0
		}, "label pod t-tikv-2: tidb.pingcap.com/cluster-id=7"},
		"a claim that is going": {func(c *plantest.Cluster) {
			c.Member("t-tikv-2").Claims[0].Terminating = true
			clear(&c.Member("t-tikv-2").Claims[0].Identity)
		}, ""},
		"a claim without one label": {func(c *plantest.Cluster) {
			delete(c.Member("t-tikv-2").Claims[0].Identity.Labels, topology.LabelStoreID)
		}, "label persistentvolumeclaim tikv-t-tikv-2: tidb.pingcap.com/store-id=3"},
		"a claim without its annotation": {func(c *plantest.Cluster) {
			c.Member("t-tikv-2").Claims[0].Identity.Annotations = nil
		}, "label persistentvolumeclaim tikv-t-tikv-2: annotations tidb.pingcap.com/pod-name=t-tikv-2"},
		"a volume without its annotation": {func(c *plantest.Cluster) {
			volumeOf(c, "t-tikv-2").Identity.Annotations = nil
		}, "label volume pv-tikv-t-tikv-2: annotations tidb.pingcap.com/pod-name=t-tikv-2"},
		"a pod that is going": {func(c *plantest.Cluster) {
			m := c.Member("t-pd-1")
			clear(&m.Pod.Identity)
			m.Pod.Terminating = true
		}, ""},
		"paused": {func(c *plantest.Cluster) {
			c.Wanted.Cluster.Paused = true
			clear(&c.Member("t-pd-1").Pod.Identity)
		}, ""},
		"the TidbCluster is going": {func(c *plantest.Cluster) {
			c.Wanted.Cluster.Deleting = true
			clear(&c.Member("t-pd-1").Pod.Identity)
		}, ""},
	})
}

func TestOrphanPods(t *testing.T) {
	orphan := func(c *plantest.Cluster, name string) *state.Member {
		m := c.Down(time.Minute, name).Member(name)
		m.Pod.Node, m.Claims = "", nil
		return m
	}
	upkeepOf(t, map[string]struct {
		change func(c *plantest.Cluster)
		want   string
	}{
		"its claim was deleted": {func(c *plantest.Cluster) { orphan(c, "t-tikv-3") },
			"recreate t-tikv-3, claim tikv-t-tikv-3 is missing"},
		"TiDB with volumes, too": {func(c *plantest.Cluster) { orphan(c, "t-tidb-0").Pod.Claims = []string{"tidb-log-t-tidb-0"} },
			"recreate t-tidb-0, claim tidb-log-t-tidb-0 is missing"},
		"it has no volumes": {func(c *plantest.Cluster) { orphan(c, "t-tidb-0") }, ""},
		"it has a place":    {func(c *plantest.Cluster) { orphan(c, "t-tikv-3").Pod.Node = "n" }, ""},
		"it is going":       {func(c *plantest.Cluster) { orphan(c, "t-tikv-3").Pod.Terminating = true }, ""},
		"it is above the replicas": {func(c *plantest.Cluster) {
			orphan(c, "t-tikv-3")
			c.Set(topology.TiKV, func(s *state.Set) { s.Replicas = 3 })
		}, ""},
		"no StatefulSet at all": {func(c *plantest.Cluster) {
			orphan(c, "t-tikv-3")
			c.Set(topology.TiKV, func(s *state.Set) { s.Exists = false })
		}, ""},
	})
}

func TestStoreLabels(t *testing.T) {
	spread := func(c *plantest.Cluster) {
		c.Seen.PD.LocationLabels = []string{"zone", "host"}
		c.Seen.Nodes = map[string]map[string]string{}
		for i, zone := range []string{"a", "b", "c", "d"} {
			node := "node-" + string(rune('0'+i))
			c.Seen.Nodes[node] = map[string]string{"topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": node}
			c.Member("t-tikv-" + string(rune('0'+i))).StoreLabels = map[string]string{"zone": zone, "host": node}
		}
	}
	upkeepOf(t, map[string]struct {
		change func(c *plantest.Cluster)
		want   string
	}{
		"converged": {spread, ""},
		"only what differs": {func(c *plantest.Cluster) {
			spread(c)
			c.Member("t-tikv-1").StoreLabels = map[string]string{"zone": "x", "host": "node-1", "disk": "ssd"}
		}, "label store 2 of t-tikv-1: zone=b"},
		"a label of the node's own wins over its alias": {func(c *plantest.Cluster) {
			spread(c)
			c.Seen.Nodes["node-1"]["zone"] = "mine"
		}, "label store 2 of t-tikv-1: zone=mine"},
		"the older alias": {func(c *plantest.Cluster) {
			spread(c)
			c.Seen.Nodes["node-1"] = map[string]string{"failure-domain.beta.kubernetes.io/zone": "old"}
		}, "label store 2 of t-tikv-1: zone=old"},
		"a region": {func(c *plantest.Cluster) {
			spread(c)
			c.Seen.PD.LocationLabels = []string{"region"}
			c.Seen.Nodes["node-1"]["topology.kubernetes.io/region"] = "here"
			c.Seen.Nodes["node-2"]["failure-domain.beta.kubernetes.io/region"] = "there"
		}, "label store 2 of t-tikv-1: region=here\nlabel store 3 of t-tikv-2: region=there"},
		"a store that PD does not know": {func(c *plantest.Cluster) {
			spread(c)
			m := c.Member("t-tikv-1")
			m.StoreLabels, m.Database = map[string]string{}, state.Database{Presence: state.Absent}
		}, ""},
		"its pod is going": {func(c *plantest.Cluster) {
			spread(c)
			m := c.Member("t-tikv-1")
			m.StoreLabels, m.Pod.Terminating = map[string]string{}, true
		}, ""},
		"what the user asks for besides": {func(c *plantest.Cluster) {
			spread(c)
			c.Want(topology.TiKV).StoreLabels = []string{"disk", "host"}
			c.Seen.Nodes["node-3"]["disk"] = "ssd"
		}, "label store 4 of t-tikv-3: disk=ssd"},
		"PD spells it in another case": {func(c *plantest.Cluster) {
			spread(c)
			c.Member("t-tikv-1").StoreLabels = map[string]string{"Zone": "b", "host": "node-1"}
		}, ""},
		"tikv-11-6: a store without its pod or its node is left out, the others are labelled": {func(c *plantest.Cluster) {
			spread(c)
			for i := range 4 {
				c.Member("t-tikv-" + string(rune('0'+i))).StoreLabels = map[string]string{}
			}
			c.Member("t-tikv-0").Pod = nil
			delete(c.Seen.Nodes, "node-1")
			c.Member("t-tikv-2").Pod.Node = ""
		}, "label store 4 of t-tikv-3: host=node-3, zone=d"},
		"a tombstone": {func(c *plantest.Cluster) {
			spread(c)
			c.Member("t-tikv-1").StoreLabels = map[string]string{}
			c.Member("t-tikv-1").Database.State = state.StoreTombstone
		}, ""},
		"nodes cannot be read": {func(c *plantest.Cluster) {
			spread(c)
			c.Seen.Nodes = nil
			c.Member("t-tikv-1").StoreLabels = map[string]string{}
		}, ""},
	})
}

// Upkeep is no part of the outcome, and none of it takes anything away.
func TestUpkeepDelaysNothing(t *testing.T) {
	for name, change := range map[string]func(c *plantest.Cluster){
		"converged": func(*plantest.Cluster) {},
		"waits":     func(c *plantest.Cluster) { c.Down(time.Minute, "t-tidb-0") },
		"blocked":   func(c *plantest.Cluster) { c.Down(time.Hour, "t-tikv-0") },
		"acts":      func(c *plantest.Cluster) { c.Roll(topology.TiDB) },
	} {
		t.Run(name, func(t *testing.T) {
			before := with(change).Text()
			c := with(change)
			c.Member("t-tikv-2").Pod.Identity = state.Identity{}
			volumeOf(c, "t-tikv-2").Policy = "Delete"
			p := c.Decide()
			if plantest.Text(p) != before || len(p.Upkeep) != 2 {
				t.Errorf("got:\n%s\n%v\nwant:\n%s", plantest.Text(p), p.Upkeep, before)
			}
			for _, s := range p.Upkeep {
				if s.Disruptive() {
					t.Errorf("%s is disruptive", s)
				}
			}
		})
	}
}
