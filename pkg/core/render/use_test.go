package render

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func noConfig(tc *v1alpha1.TidbCluster) {
	tc.Spec.PD.Config, tc.Spec.TiKV.Config, tc.Spec.TiDB.Config = nil, nil, nil
}

// handMade makes the ConfigMap of a component one that a person has made, without labels and
// without a controller.
func handMade(have state.Existing, name, config, script string) state.Existing {
	have.ConfigMaps[name] = &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "db"},
		Data:       map[string]string{keyConfig: config, keyScript: script},
	}
	return have
}

// TestConfigMapOfOthers: a configuration is not replaced before the spec asks for another one,
// whatever owner its ConfigMap has.
func TestConfigMapOfOthers(t *testing.T) {
	const text, script = "a = 1\n", "exec /by-hand\n"
	own := scriptOf(t, load(t, "basic"), topology.TiKV)
	for name, tt := range map[string]struct {
		edit    func(*v1alpha1.TidbCluster)
		script  string
		config  string // in the ConfigMap
		want    string // the name in the pod template
		drift   desired.Drift
		refused string
	}{
		"no config": {edit: noConfig, script: script, config: text, want: "basic-tikv"},
		"no config, rolling": {
			edit: all(rolling, noConfig), script: script, config: text, want: "basic-tikv",
		},
		"the same config": {edit: tikvConfig(text), script: own, config: "a=1", want: "basic-tikv"},
		"the same config, rolling": {
			edit: all(rolling, tikvConfig(text)), script: own, config: "a=1", want: "basic-tikv",
		},
		"another config": {
			edit: tikvConfig("a = 2\n"), script: own, config: text, refused: "spec.tikv.config",
		},
		"another config, rolling": {
			edit: all(rolling, tikvConfig("a = 2\n")), script: own, config: text,
			want:  "basic-tikv-" + digest(map[string]string{keyConfig: "a = 2\n", keyScript: own}),
			drift: desired.Missing,
		},
	} {
		t.Run(name, func(t *testing.T) {
			have := handMade(running(t, "basic-tikv", text), "basic-tikv", tt.config, tt.script)
			w, err := Want(state.Observation{Cluster: load(t, "basic", tt.edit), Existing: have})
			if tt.refused != "" {
				var r *RefusedError
				if !errors.As(err, &r) || r.Fields[0].Field != tt.refused || !strings.Contains(err.Error(), "kubectl label configmap basic-tikv ") {
					t.Errorf("not refused: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			g := groupOf(t, w, topology.TiKV)
			if got := mountedConfigMap(&setOf(t, w, topology.TiKV).Spec.Template.Spec, "basic-tikv"); got != tt.want {
				t.Errorf("pods use %s, want %s", got, tt.want)
			}
			drift := desired.None
			for _, o := range g.Config {
				drift = o.Drift
			}
			if drift != tt.drift {
				t.Errorf("written %d, want %d", drift, tt.drift)
			}
			if rolls := g.Set.Drift != desired.None; rolls != (tt.want != "basic-tikv") {
				t.Errorf("pods restart: %t", rolls)
			}
		})
	}
}

// TestOwnConfigMapWithoutConfig: one that an operator has made stays as it is when
// the configuration is taken out of the spec.
func TestOwnConfigMapWithoutConfig(t *testing.T) {
	for name, edit := range map[string]func(*v1alpha1.TidbCluster){"in place": noConfig, "rolling": all(rolling, noConfig)} {
		have := running(t, "basic-tikv", "a = 1\n")
		w := want(t, load(t, "basic", edit), have, state.Snapshot{})
		if g := groupOf(t, w, topology.TiKV); g.Config[0].Drift != desired.None || g.Set.Drift != desired.None {
			t.Errorf("%s: ConfigMap written %d, StatefulSet %d", name, g.Config[0].Drift, g.Set.Drift)
		}
	}
}

// TestConfigMapBeforePods: a ConfigMap that a person has made for the first pods.
func TestConfigMapBeforePods(t *testing.T) {
	onlyPD := func(t *testing.T) string { return scriptOf(t, load(t, "basic"), topology.PD) }
	for name, tt := range map[string]struct {
		have    state.Existing
		refused string
	}{
		"of TiKV":                 {handMade(nothing(), "basic-tikv", "", "exec /by-hand\n"), ""},
		"of PD, a script of ours": {handMade(nothing(), "basic-pd", "", onlyPD(t)), ""},
		"of PD, another script":   {handMade(nothing(), "basic-pd", "", "exec /by-hand\n"), "spec.pd.config"},
		"without a script": {func() state.Existing {
			have := handMade(nothing(), "basic-tikv", "", "")
			delete(have.ConfigMaps["basic-tikv"].Data, keyScript)
			return have
		}(), "spec.tikv.config"},
	} {
		_, err := Want(state.Observation{Cluster: load(t, "basic", noConfig), Existing: tt.have})
		got := ""
		var r *RefusedError
		if errors.As(err, &r) {
			got = r.Fields[0].Field
		}
		if got != tt.refused {
			t.Errorf("%s: refused for %q, want %q: %v", name, got, tt.refused, err)
		}
	}
}

// TestConfigMapIsGone: pods that run still have what stood in it. None restarts.
func TestConfigMapIsGone(t *testing.T) {
	member := func(k topology.Kind, name string) state.Group {
		return state.Group{Members: []state.Member{{Kind: k, Name: name, Pod: &state.Pod{Started: time.Unix(1, 0)}}}}
	}
	snap := state.Snapshot{Groups: map[topology.Kind]state.Group{
		topology.PD: member(topology.PD, "basic-pd-0"), topology.TiKV: member(topology.TiKV, "basic-tikv-0"), topology.TiDB: member(topology.TiDB, "basic-tidb-0"),
	}}
	config := func(tc *v1alpha1.TidbCluster) {
		tc.Spec.PD.Config, tc.Spec.TiKV.Config, tc.Spec.TiDB.Config = v1alpha1.NewPDConfig(), v1alpha1.NewTiKVConfig(), v1alpha1.NewTiDBConfig()
	}
	made := func(t *testing.T) state.Existing {
		return created(t, want(t, load(t, "basic", config), nothing(), state.Snapshot{}))
	}
	for name, tt := range map[string]struct {
		have  func(*testing.T) state.Existing
		edit  func(*v1alpha1.TidbCluster)
		again map[string]desired.Drift
		lacks []topology.Kind
	}{
		"of ours": {made, config, map[string]desired.Drift{
			"ConfigMap basic-pd": desired.Missing, "ConfigMap basic-tikv": desired.Missing, "ConfigMap basic-tidb": desired.Missing,
		}, nil},
		"of ours, rolling": {made, all(rolling, config), map[string]desired.Drift{
			"ConfigMap basic-pd": desired.Missing, "ConfigMap basic-tikv": desired.Missing, "ConfigMap basic-tidb": desired.Missing,
		}, nil},
		"of an operator, whose PD asks its discovery server": {
			func(t *testing.T) state.Existing { return operated(t, "basic") }, all(rolling, config), map[string]desired.Drift{
				"ConfigMap basic-tikv": desired.Missing, "ConfigMap basic-tidb": desired.Missing,
			}, []topology.Kind{topology.PD},
		},
		"no config": {made, noConfig, map[string]desired.Drift{}, basicKinds},
	} {
		t.Run(name, func(t *testing.T) {
			have := tt.have(t)
			for _, k := range basicKinds {
				delete(have.ConfigMaps, "basic-"+string(k))
			}
			w := want(t, load(t, "basic", tt.edit), have, snap)
			if diff := cmp.Diff(tt.again, drifts(w)); diff != "" {
				t.Error(diff)
			}
			var lacks []topology.Kind
			for _, g := range w.Groups {
				for _, gate := range g.Lacks {
					lacks = append(lacks, g.Kind)
					file := "/etc/" + string(g.Kind) + "/" + string(g.Kind) + ".toml"
					if pod := "kubectl exec basic-" + string(g.Kind) + "-0 -c " + string(g.Kind) + " -n db -- cat " + file; gate.Need != desired.MountedConfigMap || !strings.Contains(gate.Remedy.Line(""), pod) {
						t.Errorf("what to do: %s", gate.Remedy.Line(""))
					}
				}
				for _, o := range g.Config {
					if !o.Mounted {
						t.Errorf("%s is not made at once", o.Name)
					}
				}
			}
			if diff := cmp.Diff(tt.lacks, lacks); diff != "" {
				t.Errorf("lacks: %s", diff)
			}
		})
	}
}

// TestPodsWithoutStatefulSet: pods that an operator has left show which ConfigMap they
// use and how PD begins.
func TestPodsWithoutStatefulSet(t *testing.T) {
	have := operated(t, "basic")
	have.Pods = map[topology.Kind]*corev1.PodSpec{}
	for _, k := range basicKinds {
		have.Pods[k] = have.Sets[k].Spec.Template.Spec.DeepCopy()
		name := "basic-" + string(k) + "-3131313"
		for _, v := range have.Pods[k].Volumes {
			if v.ConfigMap != nil {
				v.ConfigMap.Name = name
			}
		}
		have.ConfigMaps[name] = have.ConfigMaps["basic-"+string(k)]
		have.ConfigMaps[name].Name = name
		delete(have.ConfigMaps, "basic-"+string(k))
		delete(have.Sets, k)
	}
	w := want(t, load(t, "basic", rolling), have, state.Snapshot{})
	for _, k := range basicKinds {
		if got := mountedConfigMap(&setOf(t, w, k).Spec.Template.Spec, "basic-"+string(k)); got != "basic-"+string(k)+"-3131313" {
			t.Errorf("%s: pods would get %s", k, got)
		}
	}
	if len(w.Objects) > 0 {
		t.Error("PD would bootstrap in another way")
	}
}

// TestConfigMapOfHelm: an annotation names the ConfigMap where the spec has no
// configuration.
func TestConfigMapOfHelm(t *testing.T) {
	helm := func(tc *v1alpha1.TidbCluster) {
		tc.Annotations = map[string]string{"pingcap.com/tikv.basic-tikv.sha": "abc"}
	}
	withMap := func(have state.Existing) state.Existing {
		return handMade(have, "basic-tikv-abc", "a = 1\n", "exec /by-hand\n")
	}
	for name, tt := range map[string]struct {
		edit  func(*v1alpha1.TidbCluster)
		have  state.Existing
		want  string
		rolls bool
		lacks bool
	}{
		"in use":               {all(noConfig, helm), withMap(running(t, "basic-tikv-abc", "")), "basic-tikv-abc", false, false},
		"the next one":         {all(noConfig, helm), withMap(running(t, "basic-tikv-def", "")), "basic-tikv-abc", true, false},
		"not there yet":        {all(noConfig, helm), running(t, "basic-tikv-def", ""), "basic-tikv-def", false, true},
		"the first pods":       {all(noConfig, helm), withMap(nothing()), "basic-tikv-abc", true, false},
		"a config comes first": {all(tikvConfig("a = 1\n"), helm), withMap(running(t, "basic-tikv", "a = 1\n")), "basic-tikv", false, false},
	} {
		w := want(t, load(t, "basic", tt.edit), tt.have, state.Snapshot{})
		g := groupOf(t, w, topology.TiKV)
		if got := mountedConfigMap(&setOf(t, w, topology.TiKV).Spec.Template.Spec, "basic-tikv"); got != tt.want {
			t.Errorf("%s: pods use %s, want %s", name, got, tt.want)
		}
		if rolls, lacks := g.Set.Drift != desired.None, len(g.Lacks) > 0; rolls != tt.rolls || lacks != tt.lacks {
			t.Errorf("%s: restart %t, lacks its ConfigMap %t", name, rolls, lacks)
		}
		for _, o := range g.Config {
			if o.Drift != desired.None {
				t.Errorf("%s: %s is written", name, o.Name)
			}
		}
		if names := ConfigMaps(load(t, "basic", tt.edit), tt.have); tt.want == "basic-tikv-abc" && !slices.Contains(names, "basic-tikv-abc") {
			t.Errorf("%s: read are %v", name, names)
		}
	}
}

// TestNamesOfAnnotations: what cannot be a name is not asked for.
func TestNamesOfAnnotations(t *testing.T) {
	c := load(t, "basic", noConfig, func(tc *v1alpha1.TidbCluster) {
		tc.Annotations = map[string]string{"pingcap.com/tikv.basic-tikv.sha": "a/b", annNameBefore + "pd": "?"}
	})
	if diff := cmp.Diff([]string{"basic-pd", "basic-tikv", "basic-tidb"}, ConfigMaps(c, nothing())); diff != "" {
		t.Error(diff)
	}
}
