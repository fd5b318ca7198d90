package render

import (
	"maps"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Values that tidb-operator v1.6.5 gives to the same data.
func TestDigest(t *testing.T) {
	for want, data := range map[string]map[string]string{
		"6235356": {keyConfig: "a = 1\n", keyScript: "exec /pd-server\n"},
		"3636646": {keyConfig: "", keyScript: "exec <\"x\" && y\n"},
	} {
		if got := digest(data); got != want {
			t.Errorf("digest of %v is %s, want %s", data, got, want)
		}
	}
}

func rolling(tc *v1alpha1.TidbCluster) {
	tc.Spec.ConfigUpdateStrategy = v1alpha1.ConfigUpdateStrategyRollingUpdate
}

func tikvConfig(text string) func(*v1alpha1.TidbCluster) {
	return func(tc *v1alpha1.TidbCluster) {
		tc.Spec.TiKV.Config = v1alpha1.NewTiKVConfig()
		if err := tc.Spec.TiKV.Config.UnmarshalTOML([]byte(text)); err != nil {
			panic(err)
		}
	}
}

func all(edits ...func(*v1alpha1.TidbCluster)) func(*v1alpha1.TidbCluster) {
	return func(tc *v1alpha1.TidbCluster) {
		for _, edit := range edits {
			edit(tc)
		}
	}
}

// running returns a cluster whose TiKV runs with a ConfigMap of the given name and configuration.
func running(t *testing.T, name, text string) state.Existing {
	t.Helper()
	have := created(t, want(t, load(t, "basic"), nothing(), state.Snapshot{}))
	m := have.ConfigMaps["basic-tikv"]
	delete(have.ConfigMaps, "basic-tikv")
	m.Name, m.Data[keyConfig] = name, text
	have.ConfigMaps[name] = m
	live := have.Sets[topology.TiKV]
	applied := record(t, live)
	for _, spec := range []appsv1.StatefulSetSpec{applied, live.Spec} {
		for _, v := range spec.Template.Spec.Volumes {
			if v.ConfigMap != nil {
				v.ConfigMap.Name = name
			}
		}
	}
	setLastApplied(&live.ObjectMeta, applied)
	return have
}

func TestConfigMapStrategies(t *testing.T) {
	const text, otherwise = "a = 1\nb = 2\n", "b=2 # by hand\na=1"
	script := scriptOf(t, load(t, "basic"), topology.TiKV)
	hashed := func(config string) string {
		return "basic-tikv-" + digest(map[string]string{keyConfig: config, keyScript: script})
	}
	for name, tt := range map[string]struct {
		edit   func(*v1alpha1.TidbCluster)
		have   state.Existing
		want   string // name
		config string
		drift  desired.Drift
		rolls  bool
	}{
		"in place, new": {
			edit: tikvConfig(text), have: nothing(),
			want: "basic-tikv", config: text, drift: desired.Missing,
		},
		"in place, same": {
			edit: tikvConfig(text), have: running(t, "basic-tikv", otherwise),
			want: "basic-tikv", config: otherwise, drift: desired.None,
		},
		"in place, changed": {
			edit: tikvConfig("a = 3\n"), have: running(t, "basic-tikv", text),
			want: "basic-tikv", config: "a = 3\n", drift: desired.Differs,
		},
		"in place keeps a name with a digest": {
			edit: tikvConfig("a = 3\n"), have: running(t, "basic-tikv-3731616", text),
			want: "basic-tikv-3731616", config: "a = 3\n", drift: desired.Differs,
		},
		"rolling, new": {
			edit: all(rolling, tikvConfig(text)), have: nothing(),
			want: hashed(text), config: text, drift: desired.Missing,
		},
		"rolling, same": {
			edit: all(rolling, tikvConfig(text)), have: running(t, hashed(text), text),
			want: hashed(text), config: text, drift: desired.None,
		},
		"rolling, same in other words": {
			edit: all(rolling, tikvConfig(text)), have: running(t, hashed(text), otherwise),
			want: hashed(text), config: otherwise, drift: desired.None,
		},
		"rolling, same after in place": {
			edit: all(rolling, tikvConfig(text)), have: running(t, "basic-tikv", text),
			want: "basic-tikv", config: text, drift: desired.None,
		},
		"rolling, changed": {
			edit: all(rolling, tikvConfig("a = 3\n")), have: running(t, hashed(text), text),
			want: hashed("a = 3\n"), config: "a = 3\n", drift: desired.Missing, rolls: true,
		},
		"pd-A13 tidb-B17: rolling, changed to the same digest": {
			edit: all(rolling, tikvConfig("a = 3\n")), have: running(t, hashed("a = 3\n"), text),
			want: hashed("a = 3\n") + "-new", config: "a = 3\n", drift: desired.Missing, rolls: true,
		},
		"rolling, in use but gone: it is made again, and no pod restarts": {
			edit: all(rolling, tikvConfig(text)), have: func() state.Existing {
				have := running(t, "basic-tikv-3731616", text)
				delete(have.ConfigMaps, "basic-tikv-3731616")
				return have
			}(),
			want: "basic-tikv-3731616", config: text, drift: desired.Missing,
		},
		"damaged": {
			edit: tikvConfig(text), have: running(t, "basic-tikv", "= ="),
			want: "basic-tikv", config: text, drift: desired.Differs,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := want(t, load(t, "basic", tt.edit), tt.have, state.Snapshot{})
			g := groupOf(t, w, topology.TiKV)
			m := configOf(t, w, topology.TiKV)
			if m.Name != tt.want || m.Data[keyConfig] != tt.config || g.Config[0].Drift != tt.drift {
				t.Errorf("%s with %q drifts %d, want %s with %q, %d", m.Name, m.Data[keyConfig], g.Config[0].Drift, tt.want, tt.config, tt.drift)
			}
			for _, v := range setOf(t, w, topology.TiKV).Spec.Template.Spec.Volumes {
				if v.ConfigMap != nil && v.ConfigMap.Name != tt.want {
					t.Errorf("the pods use %s", v.ConfigMap.Name)
				}
			}
			if rolls := g.Set.Drift == desired.Differs; rolls != tt.rolls {
				t.Errorf("pods restart: %t", rolls)
			}
		})
	}
}

// A digest has only some thousand values: another ConfigMap may have the name.
func TestRollingNameIsNotTaken(t *testing.T) {
	c := load(t, "basic", all(rolling, tikvConfig("a = 1\n")))
	first := configOf(t, want(t, c, nothing(), state.Snapshot{}), topology.TiKV)
	have := nothing()
	have.ConfigMaps[first.Name] = &corev1.ConfigMap{ObjectMeta: first.ObjectMeta, Data: map[string]string{keyConfig: "other"}}
	if got := configOf(t, want(t, c, have, state.Snapshot{}), topology.TiKV).Name; got != first.Name+"-new" {
		t.Errorf("a ConfigMap of others is overwritten by %s", got)
	}
	have.ConfigMaps[first.Name].Data = maps.Clone(first.Data)
	if got := configOf(t, want(t, c, have, state.Snapshot{}), topology.TiKV).Name; got != first.Name {
		t.Errorf("the same content is called %s", got)
	}
}

// An operator that recreates a StatefulSet leaves its pods, and the name of
// their ConfigMap on the TidbCluster.
func TestConfigMapBeforeDelete(t *testing.T) {
	have := running(t, "basic-tikv-3731616", "a=1")
	delete(have.Sets, topology.TiKV)
	noted := func(tc *v1alpha1.TidbCluster) {
		tc.Annotations = map[string]string{annNameBefore + "tikv": "basic-tikv-3731616"}
	}
	c := load(t, "basic", all(rolling, noted, tikvConfig("a = 1\n")))
	if got := configOf(t, want(t, c, have, state.Snapshot{}), topology.TiKV).Name; got != "basic-tikv-3731616" {
		t.Errorf("the pods would get %s", got)
	}
	t.Run("tidb-S12: it is gone", func(t *testing.T) {
		clear(have.ConfigMaps)
		fresh := configOf(t, want(t, load(t, "basic", all(rolling, tikvConfig("a = 1\n"))), nothing(), state.Snapshot{}), topology.TiKV)
		if got := configOf(t, want(t, c, have, state.Snapshot{}), topology.TiKV); got.Name != fresh.Name || got.Data[keyConfig] != "a = 1\n" {
			t.Errorf("the pods would get %s with %q, want %s", got.Name, got.Data[keyConfig], fresh.Name)
		}
	})
}

func TestForcedKeys(t *testing.T) {
	c := load(t, "rich")
	w := want(t, c, nothing(), state.Snapshot{})
	for k, text := range map[topology.Kind]string{
		topology.TiKV: "log-level = \"warn\"\n\n[pessimistic-txn]\n  wait-for-lock-timeout = 1000\n  wake-up-delay-duration = \"20ms\"\n\n" +
			"[storage]\n  reserve-space = \"0MB\"\n  [storage.block-cache]\n    capacity = \"2GB\"\n",
		topology.TiDB: "initialize-sql-file = \"/etc/tidb-bootstrap/bootstrap.sql\"\n\n[log]\n  [log.file]\n    max-backups = 3\n    max-days = 7\n\n" +
			"[performance]\n  max-procs = 4\n\n[security]\n  auth-token-jwks = \"/var/lib/tidb-auth-token/tidb_auth_token_jwks.json\"\n",
	} {
		if got := configOf(t, w, k).Data[keyConfig]; got != text {
			t.Errorf("%s:\n%s\nwant\n%s", k, got, text)
		}
	}
}

func TestForcedKeyInPlaceOfTable(t *testing.T) {
	c := load(t, "rich", func(tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.Config.MP["security"] = "none" })
	if _, err := Want(state.Observation{Cluster: c, Existing: nothing()}); err == nil {
		t.Error("rendered")
	}
}

// TestSameMeaning: an empty configuration is one, and equal to an empty one.
func TestSameMeaning(t *testing.T) {
	for name, c := range map[string]struct {
		a, b map[string]string
		want bool
	}{
		"both empty":          {map[string]string{keyConfig: ""}, map[string]string{keyConfig: ""}, true},
		"none and empty":      {map[string]string{}, map[string]string{keyConfig: ""}, false},
		"empty and a setting": {map[string]string{keyConfig: ""}, map[string]string{keyConfig: "a = 1"}, false},
		"other order":         {map[string]string{keyConfig: "b = 2\na = 1"}, map[string]string{keyConfig: "a = 1\nb = 2"}, true},
		"another script":      {map[string]string{keyScript: "a"}, map[string]string{keyScript: "b"}, false},
	} {
		if got := sameMeaning(c.a, c.b); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
