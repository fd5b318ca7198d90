package render

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

var update = flag.Bool("update", false, "write the golden files again")

// load reads a TidbCluster from testdata, and lets the test change it.
// basicKinds are the components of most clusters of these tests.
var basicKinds = []topology.Kind{topology.PD, topology.TiKV, topology.TiDB}

func load(t *testing.T, name string, edit ...func(*v1alpha1.TidbCluster)) topology.Cluster {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	tc := &v1alpha1.TidbCluster{}
	if err := yaml.UnmarshalStrict(data, tc); err != nil {
		t.Fatal(err)
	}
	for _, f := range edit {
		f(tc)
	}
	return topology.New(tc)
}

func want(t *testing.T, c topology.Cluster, have state.Existing, snap state.Snapshot) desired.State {
	t.Helper()
	w, err := Want(state.Observation{Cluster: c, Existing: have, Snapshot: snap})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func groupOf(t *testing.T, w desired.State, k topology.Kind) desired.Group {
	t.Helper()
	g, ok := w.Group(k)
	if !ok {
		t.Fatalf("%s is not wanted", k)
	}
	return g
}

func setOf(t *testing.T, w desired.State, k topology.Kind) *appsv1.StatefulSet {
	t.Helper()
	return groupOf(t, w, k).Set.Manifest.(*appsv1.StatefulSet)
}

func configOf(t *testing.T, w desired.State, k topology.Kind) *corev1.ConfigMap {
	t.Helper()
	config := groupOf(t, w, k).Config
	if len(config) == 0 {
		return &corev1.ConfigMap{} // it needs none
	}
	return config[0].Manifest.(*corev1.ConfigMap)
}

func nothing() state.Existing {
	return state.Existing{
		Services:   map[string]*corev1.Service{},
		ConfigMaps: map[string]*corev1.ConfigMap{},
		Sets:       map[topology.Kind]*appsv1.StatefulSet{},
	}
}

// created returns the objects after everything wanted has been created, as an API server returns
// them: with its own defaults and additions.
func created(t *testing.T, w desired.State) state.Existing {
	t.Helper()
	have := nothing()
	add := func(o desired.Object) {
		switch m := o.Manifest.DeepCopyObject().(type) {
		case *corev1.Service:
			m.ResourceVersion = "1"
			if m.Spec.ClusterIP == "" {
				m.Spec.ClusterIP = "10.96.1.2"
			}
			m.Spec.ClusterIPs = []string{m.Spec.ClusterIP}
			m.Spec.SessionAffinity = corev1.ServiceAffinityNone
			have.Services[m.Name] = m
		case *corev1.ConfigMap:
			m.ResourceVersion = "1"
			have.ConfigMaps[m.Name] = m
		case *appsv1.StatefulSet:
			m.ResourceVersion = "1"
			m.Spec.RevisionHistoryLimit = new(int32)
			m.Spec.Template.Spec.SecurityContext = &corev1.PodSecurityContext{}
			m.Spec.Template.Spec.SchedulerName = "default-scheduler"
			for i := range m.Spec.Template.Spec.Containers {
				m.Spec.Template.Spec.Containers[i].TerminationMessagePath = "/dev/termination-log"
			}
			mode := corev1.PersistentVolumeFilesystem
			for i := range m.Spec.VolumeClaimTemplates {
				m.Spec.VolumeClaimTemplates[i].Spec.VolumeMode = &mode
			}
			have.Sets[topology.Kind(m.Labels[topology.LabelComponent])] = m
		}
	}
	for _, o := range objects(w) {
		add(o)
	}
	return have
}

func objects(w desired.State) []desired.Object {
	all := w.Objects
	for _, g := range w.Groups {
		all = append(all, g.Services...)
		all = append(all, g.Config...)
		all = append(all, g.Set)
	}
	return all
}

func drifts(w desired.State) map[string]desired.Drift {
	found := map[string]desired.Drift{}
	for _, o := range objects(w) {
		if o.Drift != desired.None {
			found[o.Kind+" "+o.Name] = o.Drift
		}
	}
	return found
}

func merged[T runtime.Object](t *testing.T, live, wanted T) T {
	t.Helper()
	result, err := Merge(live, wanted)
	if err != nil {
		t.Fatal(err)
	}
	return result.(T)
}

func TestGolden(t *testing.T) {
	for _, name := range []string{"basic", "rich", "odd", "tls", "proxies", "captures", "pumps", "services", "flash", "flash-legacy"} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			for _, o := range objects(want(t, load(t, name), nothing(), state.Snapshot{})) {
				text, err := yaml.Marshal(o.Manifest)
				if err != nil {
					t.Fatal(err)
				}
				got.WriteString("---\n")
				got.Write(text)
			}
			file := filepath.Join("testdata", name+".golden.yaml")
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			golden, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(golden), got.String()); diff != "" {
				t.Errorf("-golden +got:\n%s", diff)
			}
		})
	}
}

// Everything is missing at first, and nothing is left to write once it is there:
// an operator that sees differences in its own work writes for ever.
func TestNothingToWriteAfterCreation(t *testing.T) {
	for _, name := range []string{"basic", "rich", "odd", "tls", "flash", "flash-legacy"} {
		c := load(t, name)
		first := want(t, c, nothing(), state.Snapshot{})
		for _, o := range objects(first) {
			if o.Drift != desired.Missing {
				t.Errorf("%s: %s %s is not missing", name, o.Kind, o.Name)
			}
		}
		second := want(t, c, created(t, first), state.Snapshot{})
		if found := drifts(second); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// Rendering must not change what it renders from, and must give the same again.
func TestRenderingIsPure(t *testing.T) {
	c := load(t, "rich")
	before := c.Source.DeepCopy()
	first := want(t, c, nothing(), state.Snapshot{})
	manifest := setOf(t, first, topology.PD)
	manifest.Spec.Template.Spec.NodeSelector["pool"] = "changed"
	manifest.Spec.Template.Spec.Tolerations[0].Key = "changed"
	manifest.Spec.Template.Spec.Affinity.PodAntiAffinity = nil
	if diff := cmp.Diff(before, c.Source); diff != "" {
		t.Errorf("the TidbCluster was changed:\n%s", diff)
	}
	if a, b := groupOf(t, first, topology.PD).Template, groupOf(t, want(t, c, nothing(), state.Snapshot{}), topology.PD).Template; a != b {
		t.Errorf("two renderings: %s and %s", a, b)
	}
}

// Scaling must not restart pods.
func TestTemplateDoesNotDependOnReplicas(t *testing.T) {
	more := func(tc *v1alpha1.TidbCluster) {
		tc.Spec.PD.Replicas, tc.Spec.TiKV.Replicas, tc.Spec.TiDB.Replicas = 7, 7, 7
	}
	for _, name := range []string{"basic", "rich", "odd", "tls", "flash", "flash-legacy"} {
		before := want(t, load(t, name), nothing(), state.Snapshot{})
		after := want(t, load(t, name, more), nothing(), state.Snapshot{})
		for _, g := range before.Groups {
			if got := groupOf(t, after, g.Kind).Template; got != g.Template {
				t.Errorf("%s %s: another template for more replicas", name, g.Kind)
			}
		}
	}
}

// A config may be left out. The operator's pods then wait for a ConfigMap that
// does not exist.
func TestWithoutConfig(t *testing.T) {
	none := func(tc *v1alpha1.TidbCluster) {
		tc.Spec.PD.Config, tc.Spec.TiKV.Config, tc.Spec.TiDB.Config = nil, nil, nil
	}
	w := want(t, load(t, "basic", none), nothing(), state.Snapshot{})
	for k, text := range map[topology.Kind]string{
		topology.PD: "", topology.TiKV: "", topology.TiDB: "[log]\n  [log.file]\n    max-backups = 3\n",
	} {
		if got := configOf(t, w, k).Data[keyConfig]; got != text {
			t.Errorf("%s: %q, want %q", k, got, text)
		}
	}
}
