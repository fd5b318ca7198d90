package render

import (
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

const over = "[gc]\n  ratio-threshold = -1.0\n"

// restoring returns the objects of a cluster during a restore, with this configuration of TiKV.
func restoring(t *testing.T, name, text string) state.Existing {
	t.Helper()
	have := running(t, name, text)
	have.ConfigMaps[name].Data["config-file-overlay"] = over
	return have
}

// TestOverlay: what an operator has laid over a configuration for a restore stays,
// also when the configuration is changed, and no pod restarts for it.
func TestOverlay(t *testing.T) {
	const laid = "a = 1\n\n[gc]\n  batch-keys = 9\n  ratio-threshold = -1.0\n"
	asked := tikvConfig("a = 1\n[gc]\nbatch-keys = 9\nratio-threshold = 1.1\n")
	for name, tt := range map[string]struct {
		edit   func(*v1alpha1.TidbCluster)
		have   state.Existing
		config string
		drift  desired.Drift
	}{
		"in place": {asked, restoring(t, "basic-tikv", laid), laid, desired.None},
		"rolling":  {all(rolling, asked), restoring(t, "basic-tikv-1234567", laid), laid, desired.None},
		"in place, and changed": {
			tikvConfig("a = 2"), restoring(t, "basic-tikv", laid), "a = 2\n\n[gc]\n  ratio-threshold = -1.0\n", desired.Differs,
		},
		"not asked for": {
			func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.Config = nil }, restoring(t, "basic-tikv", laid), laid, desired.None,
		},
	} {
		w := want(t, load(t, "basic", tt.edit), tt.have, state.Snapshot{})
		g, m := groupOf(t, w, topology.TiKV), configOf(t, w, topology.TiKV)
		if m.Data[keyConfig] != tt.config || m.Data["config-file-overlay"] != over || g.Config[0].Drift != tt.drift || g.Set.Drift != desired.None {
			t.Errorf("%s: %q drifts %d, the StatefulSet %d", name, m.Data, g.Config[0].Drift, g.Set.Drift)
		}
		if len(g.Notices) != 1 || !strings.Contains(g.Notices[0].Text, "ConfigMap "+m.Name+" of TiKV has settings of a restore") {
			t.Errorf("%s: %+v", name, g.Notices)
		}
	}
}

// TestOverlayEnds: without the overlay the settings are those of the spec.
func TestOverlayEnds(t *testing.T) {
	w := want(t, load(t, "basic", tikvConfig("a = 1")), running(t, "basic-tikv", "a = 1\n[gc]\nratio-threshold = -1.0\n"), state.Snapshot{})
	if g, m := groupOf(t, w, topology.TiKV), configOf(t, w, topology.TiKV); m.Data[keyConfig] != "a = 1\n" || len(m.Data) != 2 || len(g.Notices) > 0 {
		t.Errorf("%q, %+v", m.Data, g.Notices)
	}
}

// TestOverlayCannotBeRead: nothing is written over what is not understood.
func TestOverlayCannotBeRead(t *testing.T) {
	have := restoring(t, "basic-tikv", "a = 1")
	have.ConfigMaps["basic-tikv"].Data["config-file-overlay"] = "= ="
	if _, err := Want(state.Observation{Cluster: load(t, "basic", tikvConfig("a = 1")), Existing: have}); err == nil || !strings.Contains(err.Error(), "config-file-overlay of ConfigMap basic-tikv") {
		t.Error(err)
	}
}

// TestConfigTakenAway: a configuration that was in the spec stays in use when it is
// removed, and there is a remedy to return to the default.
func TestConfigTakenAway(t *testing.T) {
	none := func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.Config = nil }
	for _, edit := range []func(*v1alpha1.TidbCluster){none, all(rolling, none)} {
		w := want(t, load(t, "basic", edit), running(t, "basic-tikv", "bad = 1"), state.Snapshot{})
		g := groupOf(t, w, topology.TiKV)
		if configOf(t, w, topology.TiKV).Data[keyConfig] != "bad = 1" || len(g.Notices) != 1 ||
			!strings.HasPrefix(g.Notices[0].Text, "spec.tikv.config is not set, so the configuration in ConfigMap basic-tikv stays") ||
			!strings.Contains(g.Notices[0].Remedy.Line(""), `'{"spec":{"tikv":{"config":""}}}'`) {
			t.Errorf("%+v", g.Notices)
		}
	}
	back := want(t, load(t, "basic", tikvConfig("")), running(t, "basic-tikv", "bad = 1"), state.Snapshot{})
	if g := groupOf(t, back, topology.TiKV); configOf(t, back, topology.TiKV).Data[keyConfig] != "" || len(g.Notices) > 0 {
		t.Errorf("%+v", g)
	}
	same := want(t, load(t, "basic", none), running(t, "basic-tikv", "# the default\n"), state.Snapshot{})
	if g := groupOf(t, same, topology.TiKV); len(g.Notices) > 0 {
		t.Errorf("the default: %+v", g.Notices)
	}
}
