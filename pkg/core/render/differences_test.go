package render

import (
	"slices"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// differs returns what changes in TiKV when its spec is edited.
func differs(t *testing.T, before, after func(*v1alpha1.TidbCluster)) Difference {
	t.Helper()
	have := created(t, want(t, load(t, "basic", before), nothing(), state.Snapshot{}))
	c := load(t, "basic", before, after)
	w := want(t, c, have, state.Snapshot{})
	for _, d := range Differences(state.Observation{Cluster: c, Existing: have}, w) {
		if d.Component == topology.TiKV {
			return d
		}
	}
	return Difference{}
}

func TestDifferences(t *testing.T) {
	set := func(key string, value any) func(*v1alpha1.TidbCluster) {
		return func(tc *v1alpha1.TidbCluster) {
			if tc.Spec.TiKV.Config == nil {
				tc.Spec.TiKV.Config = v1alpha1.NewTiKVConfig()
			}
			tc.Spec.TiKV.Config.Set(key, value)
		}
	}
	env := func(value string) func(*v1alpha1.TidbCluster) {
		return func(tc *v1alpha1.TidbCluster) {
			tc.Spec.TiKV.Env = []corev1.EnvVar{{Name: "KEY", Value: value}}
		}
	}
	memory := func(size string) func(*v1alpha1.TidbCluster) {
		return func(tc *v1alpha1.TidbCluster) {
			tc.Spec.TiKV.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(size)}
		}
	}
	image := func(version string) func(*v1alpha1.TidbCluster) {
		return func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.BaseImage, tc.Spec.TiKV.Version = "a", &version }
	}
	for _, c := range []struct {
		name          string
		before, after func(*v1alpha1.TidbCluster)
		pods, config  []Field
	}{
		{"nothing", image("v1"), image("v1"), nil, nil},
		{"image", image("v1"), image("v2"), []Field{{Path: "containers[tikv].image", Old: "a:v1", New: "a:v2"}}, nil},
		{"added", func(*v1alpha1.TidbCluster) {}, memory("2Gi"), []Field{{Path: "containers[tikv].resources.limits.memory", New: "2Gi"}}, nil},
		{"same amount", memory("2Gi"), memory("2048Mi"), nil, nil},
		{"a value of the environment", env("one"), env("two"), []Field{{Path: "containers[tikv].env[KEY].value", Hidden: true}}, nil},
		{"a setting", set("log.level", "info"), set("log.level", "warn"), nil, []Field{{Path: "log.level", Old: "info", New: "warn"}}},
		{"a secret setting", set("security.secret-key", "one"), set("security.secret-key", "two"), nil, []Field{{Path: "security.secret-key", Hidden: true}}},
		{"a new setting", set("log.level", "info"), set("raftstore.sync-log", true), nil, []Field{{Path: "raftstore.sync-log", New: "true"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := differs(t, c.before, c.after)
			if !slices.Equal(d.Pods, c.pods) {
				t.Errorf("pods: %+v, want %+v", d.Pods, c.pods)
			}
			if !slices.Equal(d.Config, c.config) {
				t.Errorf("configuration: %+v, want %+v", d.Config, c.config)
			}
		})
	}
}

// TestDifferencesOfOther: a configuration that cannot be read may have a secret anywhere, so none of it is
// shown, however short it is.
func TestDifferencesOfOther(t *testing.T) {
	c := load(t, "basic", func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.Config = v1alpha1.NewTiKVConfig() })
	for _, text := range []string{"level: info\nkey: x\n", "key: x"} {
		have := created(t, want(t, c, nothing(), state.Snapshot{}))
		w := want(t, c, have, state.Snapshot{})
		for i, g := range w.Groups {
			if g.Kind == topology.TiKV {
				w.Groups[i].Config[0].Drift = desired.Differs
				inUse(c, g.Kind, have).found.Data["config-file"] = text
			}
		}
		var got []Field
		for _, d := range Differences(state.Observation{Cluster: c, Existing: have}, w) {
			got = append(got, d.Config...)
		}
		if !slices.Equal(got, []Field{{Path: "config-file", Hidden: true}}) {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// TestDifferencesOfSuspended: pods that are to go have no other template.
func TestDifferencesOfSuspended(t *testing.T) {
	c := load(t, "basic")
	have := created(t, want(t, c, nothing(), state.Snapshot{}))
	w := want(t, c, have, state.Snapshot{})
	for i := range w.Groups {
		w.Groups[i].Suspend, w.Groups[i].Set.Drift = true, desired.Differs
	}
	if got := Differences(state.Observation{Cluster: c, Existing: have}, w); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}
