package render

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// foreignScript returns an operator's start script: another text, which starts the component with
// the same values.
func foreignScript(comp component) string {
	text := "# not ours\nexec /server"
	for _, w := range comp.script.words {
		if !w.absent && !w.ours {
			text += " --flag=" + w.text
		}
	}
	return strings.ReplaceAll(text, "--flag=--", "--") + "\n"
}

// operated returns the objects of a cluster that tidb-operator v1.6.5 has made, with the records
// that it wrote.
func operated(t *testing.T, name string) state.Existing {
	t.Helper()
	c := load(t, name)
	have := created(t, want(t, c, state.Existing{}, state.Snapshot{}))
	delete(have.ConfigMaps, c.BootstrapMap())
	have.HasDiscoveryDeployment = true
	for _, g := range c.Groups {
		record, err := os.ReadFile(filepath.Join("testdata", "applied", name+"-"+string(g.Kind)+".json"))
		if err != nil {
			t.Fatal(err)
		}
		live := have.Sets[g.Kind]
		live.Spec = appsv1.StatefulSetSpec{}
		if err := json.Unmarshal(record, &live.Spec); err != nil {
			t.Fatal(err)
		}
		live.Annotations = map[string]string{
			annLastApplied:     strings.TrimSpace(string(record)),
			annOwnerGeneration: "1",
		}
		comp, err := descriptionOf(g.Kind).objects(c, g, have)
		if err != nil {
			t.Fatal(err)
		}
		text, err := encode(comp.documents[0].config)
		if err != nil {
			t.Fatal(err)
		}
		base := c.SetName(g.Kind)
		have.ConfigMaps[base] = &corev1.ConfigMap{
			ObjectMeta: meta(c, base, c.Labels(g.Kind)),
			// The same configuration, as a person writes it.
			Data: map[string]string{keyConfig: "# by hand\n" + text, keyScript: foreignScript(comp)},
		}
	}
	return have
}

// The records in testdata/applied were written by tidb-operator v1.6.5 for the
// clusters beside them. To take such a cluster over, nothing has to be written.
func TestAdoption(t *testing.T) {
	for _, name := range []string{"basic", "rich"} {
		t.Run(name, func(t *testing.T) {
			c, have := load(t, name), operated(t, name)
			w := want(t, c, have, state.Snapshot{PD: state.PD{ClusterID: 7}})
			if found := drifts(w); len(found) > 0 {
				t.Errorf("to be written: %v", found)
			}
			if len(w.Objects) > 0 {
				t.Errorf("made although there is a discovery server: %v", w.Objects[0].Name)
			}
			for _, g := range w.Groups {
				if live := Template(have.Sets[g.Kind]); live != g.Template || live == "" {
					t.Errorf("%s: template %s, the operator's is %s", g.Kind, g.Template, live)
				}
				data := configOf(t, w, g.Kind).Data
				if diff := cmp.Diff(have.ConfigMaps[c.SetName(g.Kind)].Data, data); diff != "" {
					t.Errorf("%s: data changed:\n%s", g.Kind, diff)
				}
			}
		})
	}
}

func TestUpgradeOfAdoptedCluster(t *testing.T) {
	have := operated(t, "basic")
	c := load(t, "basic", func(tc *v1alpha1.TidbCluster) { tc.Spec.Version = "v8.5.0" })
	found := drifts(want(t, c, have, state.Snapshot{}))
	if diff := cmp.Diff(map[string]desired.Drift{
		"StatefulSet basic-pd": desired.Differs, "StatefulSet basic-tikv": desired.Differs, "StatefulSet basic-tidb": desired.Differs,
	}, found); diff != "" {
		t.Error(diff)
	}
}

func TestRefusedChanges(t *testing.T) {
	fast := "fast"
	for name, tt := range map[string]struct {
		edit  func(*v1alpha1.TidbCluster)
		have  func(*state.Existing)
		field string
	}{
		"tidb-B20: smaller volume": {
			edit: func(tc *v1alpha1.TidbCluster) {
				tc.Spec.TiKV.Requests[corev1.ResourceStorage] = resource.MustParse("5Gi")
			},
			field: "spec.tikv.requests.storage",
		},
		"TLS between members": {
			edit:  func(tc *v1alpha1.TidbCluster) { tc.Spec.TLSCluster = &v1alpha1.TLSCluster{Enabled: true} },
			field: "spec.tlsCluster.enabled",
		},
		"tidb-B34: attributes class of a volume that also grows": {
			edit: func(tc *v1alpha1.TidbCluster) {
				tc.Spec.TiKV.Requests[corev1.ResourceStorage] = resource.MustParse("20Gi")
				tc.Spec.TiKV.VolumeAttributesClassName = &fast
			},
		},
		"same size in other words": {
			edit: func(tc *v1alpha1.TidbCluster) {
				tc.Spec.TiKV.Requests[corev1.ResourceStorage] = resource.MustParse("10240Mi")
			},
		},
		"tidb-B21: storage class": {
			edit:  func(tc *v1alpha1.TidbCluster) { tc.Spec.PD.StorageClassName = &fast },
			field: "spec.pd.storageClassName",
		},
		"attributes class": {
			edit: func(tc *v1alpha1.TidbCluster) { tc.Spec.PD.VolumeAttributesClassName = &fast },
		},
		"from an attributes class to none": {
			edit: func(*v1alpha1.TidbCluster) {},
			have: func(e *state.Existing) {
				e.Sets[topology.PD].Spec.VolumeClaimTemplates[0].Spec.VolumeAttributesClassName = &fast
			},
			field: "spec.pd.volumeAttributesClassName",
		},
		"tidb-B34 tidb-B38 tikv-11-26: more volumes": {
			edit: func(tc *v1alpha1.TidbCluster) {
				tc.Spec.TiDB.StorageVolumes = []v1alpha1.StorageVolume{{Name: "x", StorageSize: "1Gi"}}
			},
			field: "spec.tidb.storageVolumes",
		},
		"fewer volumes of a component without members": {
			edit: func(*v1alpha1.TidbCluster) {},
			have: func(e *state.Existing) {
				set := e.Sets[topology.TiKV]
				extra := set.Spec.VolumeClaimTemplates[0].DeepCopy()
				extra.Name = "tikv-old"
				set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, *extra)
			},
		},
		"tidb-B38: pod management": {
			edit:  func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.PodManagementPolicy = appsv1.OrderedReadyPodManagement },
			field: "spec.tikv.podManagementPolicy",
		},
		"instance name": {
			edit:  func(tc *v1alpha1.TidbCluster) { tc.Labels = map[string]string{topology.LabelInstance: "other"} },
			field: "metadata.labels[app.kubernetes.io/instance]",
		},
		"data directory of PD that asks a discovery server": {
			edit:  func(tc *v1alpha1.TidbCluster) { tc.Spec.PD.DataSubDir = "sub" },
			field: "spec.pd.dataSubDir",
		},
		"more PD without the discovery server they ask": {
			edit:  func(tc *v1alpha1.TidbCluster) { tc.Spec.PD.Replicas = 5 },
			have:  func(e *state.Existing) { e.HasDiscoveryDeployment = false },
			field: "spec.pd.replicas",
		},
		"more PD with one": {
			edit: func(tc *v1alpha1.TidbCluster) { tc.Spec.PD.Replicas = 5 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			have := operated(t, "basic")
			if tt.have != nil {
				tt.have(&have)
			}
			_, err := Want(state.Observation{Cluster: load(t, "basic", tt.edit), Existing: have})
			if tt.field == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var refused *RefusedError
			if !errors.As(err, &refused) {
				t.Fatalf("not refused: %v", err)
			}
			if got := refused.Fields[0].Field; got != tt.field {
				t.Errorf("refused for %s, want %s", got, tt.field)
			}
		})
	}
}

// An object of the same name with another owner is not taken over.
func TestMergeRefusesForeignObjects(t *testing.T) {
	w := want(t, load(t, "basic"), nothing(), state.Snapshot{})
	have := created(t, w)
	controller := true
	for _, live := range []metav1.Object{
		have.Sets[topology.PD], have.Services["basic-pd"], have.ConfigMaps["basic-pd"],
	} {
		live.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Other", Name: "x", UID: "x", Controller: &controller}})
	}
	g := groupOf(t, w, topology.PD)
	if _, err := Merge(have.Sets[topology.PD], g.Set.Manifest); err == nil || !strings.Contains(err.Error(), "Other x") {
		t.Errorf("StatefulSet: %v", err)
	}
	if _, err := Merge(have.Services["basic-pd"], g.Services[0].Manifest); err == nil {
		t.Error("Service was taken")
	}
	if _, err := Merge(have.ConfigMaps["basic-pd"], g.Config[0].Manifest); err == nil {
		t.Error("ConfigMap was taken")
	}
	if _, err := Merge(have.ConfigMaps["basic-pd"], g.Set.Manifest); err == nil {
		t.Error("a StatefulSet was merged into a ConfigMap")
	}
}
