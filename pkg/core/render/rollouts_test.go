package render

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// apply returns the objects after the wanted ConfigMaps and StatefulSets were written.
func apply(t *testing.T, w desired.State, have state.Existing) state.Existing {
	t.Helper()
	next := state.Existing{Services: have.Services, ConfigMaps: maps.Clone(have.ConfigMaps), Sets: maps.Clone(have.Sets)}
	fresh := created(t, w)
	for name, m := range fresh.ConfigMaps {
		next.ConfigMaps[name] = m
		if live := have.ConfigMaps[name]; live != nil {
			next.ConfigMaps[name] = merged(t, live, m)
		}
	}
	for k := range fresh.Sets {
		next.Sets[k] = merged(t, have.Sets[k], setOf(t, w, k))
	}
	return next
}

// TestChanges: each change of a TidbCluster makes one rollout, of the component
// that it is about, or none. What is written then is what is wanted: nothing is
// left to write, and taking the change back brings the former template back, so
// that only pods that have the new one restart again.
func TestChanges(t *testing.T) {
	kv := func(edit func(*v1alpha1.TiKVSpec)) func(*v1alpha1.TidbCluster) {
		return func(tc *v1alpha1.TidbCluster) { edit(tc.Spec.TiKV) }
	}
	own, seconds := "v8.5.9", int64(77)
	for name, c := range map[string]struct {
		edit   func(*v1alpha1.TidbCluster)
		rolled []topology.Kind
	}{
		"nothing":     {func(*v1alpha1.TidbCluster) {}, nil},
		"replicas":    {kv(func(s *v1alpha1.TiKVSpec) { s.Replicas++ }), nil},
		"timeout":     {kv(func(s *v1alpha1.TiKVSpec) { d := "5m"; s.EvictLeaderTimeout = &d }), nil},
		"version":     {func(tc *v1alpha1.TidbCluster) { tc.Spec.Version = "v8.5.9" }, basicKinds},
		"own version": {kv(func(s *v1alpha1.TiKVSpec) { s.Version = &own }), []topology.Kind{topology.TiKV}},
		"image":       {kv(func(s *v1alpha1.TiKVSpec) { s.BaseImage = "r.example.com/tikv" }), []topology.Kind{topology.TiKV}},
		"resources": {kv(func(s *v1alpha1.TiKVSpec) {
			s.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("9Gi")}
		}), []topology.Kind{topology.TiKV}},
		"annotations": {kv(func(s *v1alpha1.TiKVSpec) { s.Annotations = map[string]string{"a": "1"} }), []topology.Kind{topology.TiKV}},
		"labels":      {kv(func(s *v1alpha1.TiKVSpec) { s.Labels = map[string]string{"a": "1"} }), []topology.Kind{topology.TiKV}},
		"affinity": {kv(func(s *v1alpha1.TiKVSpec) {
			s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "kubernetes.io/hostname"}},
			}}
		}), []topology.Kind{topology.TiKV}},
		"tolerations": {kv(func(s *v1alpha1.TiKVSpec) {
			s.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
		}), []topology.Kind{topology.TiKV}},
		"node selector":               {kv(func(s *v1alpha1.TiKVSpec) { s.NodeSelector = map[string]string{"disk": "fast"} }), []topology.Kind{topology.TiKV}},
		"environment":                 {kv(func(s *v1alpha1.TiKVSpec) { s.Env = []corev1.EnvVar{{Name: "A", Value: "1"}} }), []topology.Kind{topology.TiKV}},
		"grace period":                {kv(func(s *v1alpha1.TiKVSpec) { s.TerminationGracePeriodSeconds = &seconds }), []topology.Kind{topology.TiKV}},
		"configuration in place":      {tikvConfig("[raftstore]\nsync-log = false\n"), nil},
		"only the way of updating it": {rolling, nil},
	} {
		t.Run(name, func(t *testing.T) {
			before := want(t, load(t, "basic"), nothing(), state.Snapshot{})
			have := created(t, before)
			after := want(t, load(t, "basic", c.edit), have, state.Snapshot{})
			var got []topology.Kind
			for _, k := range basicKinds {
				if groupOf(t, after, k).Set.Drift != desired.None {
					got = append(got, k)
				}
				if rolls := groupOf(t, after, k).Template != groupOf(t, before, k).Template; rolls != slices.Contains(c.rolled, k) {
					t.Errorf("%s: a rollout %t", k, rolls)
				}
			}
			if diff := cmp.Diff(c.rolled, got); diff != "" {
				t.Errorf("StatefulSets to be written: %s", diff)
			}
			have = apply(t, after, have)
			again := want(t, load(t, "basic", c.edit), have, state.Snapshot{})
			if d := drifts(again); len(d) > 0 {
				t.Errorf("written, and still to be written: %v", d)
			}
			back := want(t, load(t, "basic"), have, state.Snapshot{})
			for _, k := range basicKinds {
				if groupOf(t, back, k).Template != groupOf(t, before, k).Template {
					t.Errorf("%s: taken back, it is another template than before", k)
				}
			}
		})
	}
}

// tikv-11-35: a configuration that is taken back half-way is that of the pods
// that still have it, also where an operator has put it in other words.
func TestConfigurationTakenBack(t *testing.T) {
	const former = "basic-tikv-3131313"
	old, other := all(rolling, tikvConfig("a = 1\nb = 2\n")), all(rolling, tikvConfig("a = 1\nb = 3\n"))
	have := running(t, former, "b=2 # of an operator\na=1")
	before := Template(have.Sets[topology.TiKV])
	w := want(t, load(t, "basic", other), have, state.Snapshot{})
	if name := configOf(t, w, topology.TiKV).Name; name == former || groupOf(t, w, topology.TiKV).Template == before {
		t.Fatalf("another configuration is in %s", name)
	}
	have = apply(t, w, have)
	if w = want(t, load(t, "basic", other), have, state.Snapshot{}); groupOf(t, w, topology.TiKV).Set.Drift != desired.None {
		t.Error("written, and still to be written")
	}
	w = want(t, load(t, "basic", old), have, state.Snapshot{})
	if g := groupOf(t, w, topology.TiKV); g.Template != before || g.Set.Drift != desired.Differs || g.Config[0].Drift != desired.None {
		t.Errorf("taken back it is in %s, written %v", configOf(t, w, topology.TiKV).Name, g.Config[0].Drift)
	}
}
