package render

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// withWAL gives stores a volume more.
func withWAL(path string) func(*v1alpha1.TidbCluster) {
	return func(tc *v1alpha1.TidbCluster) {
		tc.Spec.TiKV.StorageVolumes = []v1alpha1.StorageVolume{{Name: "wal", StorageSize: "1Gi", MountPath: path}}
	}
}

// asked has a user ask for the replacement of the first store.
func asked(tc *v1alpha1.TidbCluster) {
	topology.AskMemberReplacements(tc, map[string]topology.MemberReplacement{"basic-tikv-0": {Claims: []string{"u"}}})
}

// TestOtherVolumes: volumes that are added, removed or mounted at another path are refused as long as a member with data
// would start with them.
func TestOtherVolumes(t *testing.T) {
	none, mounted := func(*v1alpha1.TidbCluster) {}, map[string]string{"tikv": "/var/lib/tikv", "tikv-wal": "/wal"}
	for name, tt := range map[string]struct {
		from, to func(*v1alpha1.TidbCluster)
		ask      func(*v1alpha1.TidbCluster)
		mounts   map[string]string // of the pod that there is
		differ   bool
		refused  bool
		added    bool
	}{
		"a volume comes":                      {from: none, to: withWAL("/wal"), ask: none, added: true},
		"a volume comes, asked for":           {from: none, to: withWAL("/wal"), ask: asked, added: true},
		"a volume goes":                       {from: withWAL("/wal"), to: none, ask: none, differ: true, refused: true},
		"a volume goes, asked for":            {from: withWAL("/wal"), to: none, ask: asked, differ: true},
		"a volume moves":                      {from: withWAL("/wal"), to: withWAL("/log"), ask: none, differ: true, refused: true},
		"a volume moves, asked for":           {from: withWAL("/wal"), to: withWAL("/log"), ask: asked, differ: true},
		"the same path in other words":        {from: withWAL("/wal"), to: withWAL("/wal/"), ask: none, mounts: mounted},
		"a volume that was not mounted":       {from: withWAL(""), to: withWAL("/wal"), ask: none},
		"the StatefulSet has it, the pod not": {from: withWAL("/wal"), to: withWAL("/wal"), ask: none, mounts: map[string]string{"tikv": "/var/lib/tikv"}, refused: true},
		"it has it, and that is asked for":    {from: withWAL("/wal"), to: withWAL("/wal"), ask: asked, mounts: map[string]string{"tikv": "/var/lib/tikv"}},
	} {
		t.Run(name, func(t *testing.T) {
			have := created(t, want(t, load(t, "basic", storage("10Gi"), tt.from), nothing(), state.Snapshot{}))
			seen := claimed(state.Claim{UID: "u", Class: "fast", Requested: 10 * gi, Growth: state.Growable})
			seen.Groups[topology.TiKV].Members[0].Pod = &state.Pod{Mounts: tt.mounts}
			w, err := Want(state.Observation{Cluster: load(t, "basic", storage("10Gi"), tt.to, tt.ask), Existing: have, Snapshot: seen})
			var refused *RefusedError
			switch {
			case tt.added:
				if !errors.As(err, &refused) || refused.Fields[0].Field != "spec.tikv.storageVolumes" || !strings.Contains(refused.Error(), "volume tikv-wal can not be added") {
					t.Errorf("got %v", err)
				}
			case tt.refused:
				if !errors.As(err, &refused) || refused.Fields[0].Field != "spec.tikv.storageVolumes" || !strings.Contains(refused.Error(), "basic-tikv-0 has other volumes") {
					t.Errorf("got %v", err)
				}
			case err != nil:
				t.Error(err)
			case groupOf(t, w, topology.TiKV).OtherVolumes != tt.differ:
				t.Errorf("other volumes: %t", !tt.differ)
			}
		})
	}
}

// TestRemade: a StatefulSet is made again without a volume, and with the pod template that mounts another one elsewhere.
// What others have added stays, and so does the size of the claim template that there was.
func TestRemade(t *testing.T) {
	volumes := func(all ...v1alpha1.StorageVolume) func(*v1alpha1.TidbCluster) {
		return func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.StorageVolumes = all }
	}
	log := v1alpha1.StorageVolume{Name: "log", StorageSize: "1Gi", MountPath: "/log"}
	wal := v1alpha1.StorageVolume{Name: "wal", StorageSize: "1Gi", MountPath: "/old"}
	live := created(t, want(t, load(t, "basic", storage("20Gi"), volumes(log, wal)), nothing(), state.Snapshot{})).Sets[topology.TiKV]
	live.Spec.Template.Annotations["mine"], live.Labels["mine"] = "stays", "stays"
	wal.MountPath = "/wal"
	wanted := setOf(t, want(t, load(t, "basic", storage("10Gi"), volumes(wal)), nothing(), state.Snapshot{}), topology.TiKV)
	if !OtherVolumes(topology.TiKV, live, wanted) || OtherVolumes(topology.TiKV, wanted, wanted) {
		t.Error("OtherVolumes is wrong")
	}
	got, err := Remade(live, wanted, false)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range got.Spec.VolumeClaimTemplates {
		names = append(names, c.Name+" "+c.Spec.Resources.Requests.Storage().String())
	}
	if !slices.Equal(names, []string{"tikv 20Gi", "tikv-wal 1Gi"}) {
		t.Errorf("claim templates %v", names)
	}
	if MountPath(got.Spec.Template.Spec, topology.TiKV, "tikv-wal") != "/wal" || Template(got) != Template(wanted) {
		t.Error("the pod template is not the wanted one")
	}
	if got.Spec.Template.Annotations["mine"] != "stays" || got.Labels["mine"] != "stays" || Partition(got) != int(*live.Spec.Replicas) || got.UID != "" {
		t.Errorf("%+v", got)
	}
}

// TestNamedOnly: a claim that cannot become as wanted is refused unless a user has named it, also where others are named.
func TestNamedOnly(t *testing.T) {
	have := created(t, want(t, load(t, "basic", storage("10Gi")), nothing(), state.Snapshot{}))
	for name, tt := range map[string]struct {
		uid, size string
		refused   bool
	}{
		"another class, named":         {"u", "10Gi", false},
		"another class, not named":     {"other", "10Gi", true},
		"another class, none is there": {"", "10Gi", true},
		"smaller, named":               {"u", "5Gi", false},
		"smaller, not named":           {"other", "5Gi", true},
	} {
		t.Run(name, func(t *testing.T) {
			seen := claimed(state.Claim{UID: tt.uid, Class: "slow", Requested: 10 * gi, Growth: state.Growable})
			g := seen.Groups[topology.TiKV]
			second := g.Members[0]
			second.Ordinal, second.Name, second.Claims = 1, "basic-tikv-1", []state.Claim{{Name: "tikv-basic-tikv-1", UID: "u", Template: "tikv", Class: "slow", Requested: 10 * gi}}
			if g.Set.Replicas, g.Members = 2, append(g.Members, second); tt.uid == "" {
				g.Members = nil
			}
			seen.Groups[topology.TiKV] = g
			fast := func(tc *v1alpha1.TidbCluster) {
				if tt.size == "10Gi" {
					tc.Spec.TiKV.StorageClassName = new("fast")
				}
				topology.AskMemberReplacements(tc, map[string]topology.MemberReplacement{"basic-tikv-0": {Claims: []string{"u"}}, "basic-tikv-1": {Claims: []string{"u"}}})
			}
			_, err := Want(state.Observation{Cluster: load(t, "basic", storage(tt.size), fast), Existing: have, Snapshot: seen})
			if (err != nil) != tt.refused {
				t.Errorf("got %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), "volume tikv has") {
				t.Error(err)
			}
		})
	}
}

// TestVolumesAreClaims: what is known of a component's volumes has the names of the claim templates that are made. With
// other names each pod would seem to have other volumes than are wanted.
func TestVolumesAreClaims(t *testing.T) {
	for _, name := range []string{"basic", "captures", "flash", "flash-legacy", "odd", "proxies", "pumps", "rich", "services", "tls"} {
		c := load(t, name)
		w := want(t, c, nothing(), state.Snapshot{})
		for _, g := range c.Groups {
			set := setOf(t, w, g.Kind)
			mounts := map[string]string{}
			for _, claim := range set.Spec.VolumeClaimTemplates {
				mounts[claim.Name] = MountPath(set.Spec.Template.Spec, g.Kind, claim.Name)
			}
			if !(desired.Group{Group: g}).HasVolumes(state.Member{Pod: &state.Pod{Mounts: mounts}}) {
				t.Errorf("%s, %s: mounts %v of volumes %+v", name, g.Kind, mounts, g.Volumes)
			}
		}
	}
}

// TestOnDeleteOfAnOperator: while it replaces volumes, tidb-operator applies OnDelete. The strategy that the spec asks for
// is written again, with a closed partition, so that no pod restarts for it.
func TestOnDeleteOfAnOperator(t *testing.T) {
	w := want(t, load(t, "basic"), nothing(), state.Snapshot{})
	have := created(t, w)
	live := have.Sets[topology.TiKV]
	live.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	applied := setOf(t, w, topology.TiKV).DeepCopy()
	applied.Spec.UpdateStrategy = live.Spec.UpdateStrategy
	setLastApplied(&live.ObjectMeta, applied.Spec)
	again := want(t, load(t, "basic"), have, state.Snapshot{})
	if groupOf(t, again, topology.TiKV).Set.Drift != desired.Differs {
		t.Fatal("OnDelete is no reason to write the StatefulSet")
	}
	merged, err := Merge(live, setOf(t, again, topology.TiKV))
	if err != nil {
		t.Fatal(err)
	}
	set := merged.(*appsv1.StatefulSet)
	if set.Spec.UpdateStrategy.Type != appsv1.RollingUpdateStatefulSetStrategyType || Partition(set) != int(*live.Spec.Replicas) {
		t.Errorf("strategy %+v", set.Spec.UpdateStrategy)
	}
	if Template(set) != Template(live) {
		t.Error("another pod template")
	}
}
