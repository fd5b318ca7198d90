package check

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestNewVolumes: a request names the members whose claims cannot become as wanted, and no other ones.
func TestNewVolumes(t *testing.T) {
	class := func(name string) func(*v1alpha1.TidbCluster) {
		return func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.StorageClassName = &name }
	}
	size := func(text string) func(*v1alpha1.TidbCluster) {
		return func(tc *v1alpha1.TidbCluster) {
			tc.Spec.TiKV.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(text)}
		}
	}
	volumes := func(all ...string) func(*v1alpha1.TidbCluster) {
		return func(tc *v1alpha1.TidbCluster) {
			tc.Spec.TiKV.StorageVolumes = nil
			for v := range slices.Chunk(all, 2) {
				tc.Spec.TiKV.StorageVolumes = append(tc.Spec.TiKV.StorageVolumes, v1alpha1.StorageVolume{Name: v[0], StorageSize: "1Gi", MountPath: v[1]})
			}
		}
	}
	servers := func(class, size, path string) func(*v1alpha1.TidbCluster) {
		return func(tc *v1alpha1.TidbCluster) {
			tc.Spec.TiDB = &v1alpha1.TiDBSpec{Replicas: 1}
			tc.Spec.TiDB.StorageVolumes = []v1alpha1.StorageVolume{{Name: "log", StorageSize: size, MountPath: path, StorageClassName: &class}}
		}
	}
	for name, c := range map[string]struct {
		change func(*v1alpha1.TidbCluster)
		want   []string
	}{
		"nothing":                       {func(*v1alpha1.TidbCluster) {}, nil},
		"another class":                 {class("fast"), []string{"t-tikv-0", "t-tikv-1", "t-tikv-2"}},
		"the name of the default class": {class("standard"), nil},
		"smaller":                       {size("512Mi"), []string{"t-tikv-0", "t-tikv-1", "t-tikv-2"}},
		"larger":                        {size("2Gi"), nil},
		"a volume less":                 {volumes(), []string{"t-tikv-0", "t-tikv-1", "t-tikv-2"}},
		"mounted elsewhere":             {volumes("wal", "/log"), []string{"t-tikv-0", "t-tikv-1", "t-tikv-2"}},
		"one more volume, as refused":   {volumes("wal", "/wal", "more", "/more"), nil},
		"another class for servers":     {servers("fast", "1Gi", "/log"), []string{"t-tidb-0", "t-tikv-1"}},
		"smaller for servers":           {servers("standard", "512Mi", "/log"), []string{"t-tidb-0", "t-tikv-1"}},
		"servers mount it elsewhere: a restart is enough": {servers("standard", "1Gi", "/elsewhere"), nil},
		"another class, paused": {func(tc *v1alpha1.TidbCluster) {
			class("fast")(tc)
			tc.Spec.Paused = true
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			now := &v1alpha1.TidbCluster{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "t"},
				Spec:       v1alpha1.TidbClusterSpec{Version: "v8.1.0", TiKV: &v1alpha1.TiKVSpec{Replicas: 3}},
			}
			size("1Gi")(now)
			volumes("wal", "/wal")(now)
			servers("standard", "1Gi", "/log")(now)
			topology.AskMemberReplacements(now, map[string]topology.MemberReplacement{"t-tikv-1": {Claims: []string{"old"}, Spare: true}})
			want := now.DeepCopy()
			c.change(want)
			groups := plantest.New(3, 4, 1).Seen.Groups
			for _, m := range groups[topology.TiKV].Members {
				m.Pod.Mounts = map[string]string{"tikv": "/var/lib/tikv", "tikv-wal": "/wal"}
				m.Claims[0] = state.Claim{Name: m.Claims[0].Name, UID: "claim of " + m.Name, Template: "tikv", Class: "standard", Requested: 1 << 30}
			}
			server := &groups[topology.TiDB].Members[0]
			server.Pod.Mounts = map[string]string{"tidb-log": "/log"}
			server.Claims = []state.Claim{{UID: "log", Template: "tidb-log", Class: "standard", Requested: 1 << 30}}
			got, err := newVolumes(Request{Change: intent.Change{Now: now, Want: want}}, groups, time.Time{})
			if err != nil || !slices.Equal(slices.Sorted(maps.Keys(got)), c.want) {
				t.Fatalf("%v, %v, want %v", got, err, c.want)
			}
			claim := "claim of t-tikv-1"
			if len(c.want) == 2 {
				claim = "old" // the earlier request stays
			}
			if r := got["t-tikv-1"]; len(c.want) > 0 && (!r.Spare || !slices.Equal(r.Claims, []string{claim})) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestOverfilled: smaller volumes are refused where a store, or all stores while one of them is away, have too much data.
func TestOverfilled(t *testing.T) {
	const gi = 1 << 30
	for name, c := range map[string]struct {
		used  topology.Size // of each of four stores
		size  topology.Size
		spare int
		names []string
		want  []string
	}{
		"enough room":          {used: 40 * gi, size: 80 * gi, names: []string{"t-tikv-0"}},
		"larger":               {used: 90 * gi, size: 110 * gi, names: []string{"t-tikv-0"}},
		"named before":         {used: 90 * gi, size: 80 * gi},
		"one store":            {used: 70 * gi, size: 80 * gi, names: []string{"t-tikv-0"}, want: []string{"t-tikv-0 has 70Gi of data, and PD moves no regions to a store of 80Gi that is more than 80% full"}},
		"all of them":          {used: 60 * gi, size: 80 * gi, names: []string{"t-tikv-0"}, want: []string{"all stores have 240Gi of data, and while the last one is replaced, 3 other ones of 80Gi take no more than 192Gi"}},
		"with a spare, enough": {used: 60 * gi, size: 80 * gi, spare: 1, names: []string{"t-tikv-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := plantest.New(3, 4, 1)
			g := cluster.Want(topology.TiKV)
			g.Volumes = []topology.Volume{{Name: "tikv", Size: c.size, Field: "spec.tikv.requests.storage"}}
			g.Spare = c.spare
			for i := range cluster.Seen.Groups[topology.TiKV].Members {
				m := &cluster.Seen.Groups[topology.TiKV].Members[i]
				m.Database.Used, m.Claims[0].Template, m.Claims[0].Requested = c.used, "tikv", 100*gi
			}
			var got []string
			for _, err := range overfilled(cluster.Wanted, cluster.Seen, c.names) {
				got = append(got, err.Error())
			}
			for i := range c.want {
				c.want[i] = "spec.tikv.requests.storage: " + c.want[i]
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
