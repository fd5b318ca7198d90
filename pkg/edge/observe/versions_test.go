package observe_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/act"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/ledger"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
)

const lastApplied = "pingcap.com/last-applied-configuration"

// versions is a cluster in a fake API server that two versions of this tool drive.
type versions struct {
	tc   *v1alpha1.TidbCluster
	kube *fake.Clientset
}

// older does a turn of this version: it observes, and writes what differs.
func (v versions) older(t *testing.T) (desired.State, state.Snapshot) {
	t.Helper()
	now := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	o := observe.New(v.kube, &dial.Direct{}, func(context.Context) (*v1alpha1.TidbCluster, error) { return v.tc.DeepCopy(), nil }, now)
	seen, err := o.Observe(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	w, err := render.Want(seen)
	if err != nil {
		t.Fatal(err)
	}
	actor := act.New(v.kube, nil, func() pd.Client { return nil }, w.Cluster, now)
	for _, g := range w.Groups {
		for _, object := range append([]desired.Object{g.Set}, append(g.Config, g.Services...)...) {
			if object.Drift == desired.None {
				continue
			}
			if err := actor.Do(t.Context(), step.Apply{Component: g.Kind, Object: object, Replicas: g.Size()}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return w, seen.Snapshot
}

// newer writes what a newer version writes: pods with one more variable, another start script, and
// its records.
func (v versions) newer(t *testing.T) {
	t.Helper()
	book := v.configMap(t, "basic-ledger")
	for _, k := range []topology.Kind{topology.PD, topology.TiKV, topology.TiDB} {
		set := v.set(t, k)
		var spec appsv1.StatefulSetSpec
		if err := json.Unmarshal([]byte(set.Annotations[lastApplied]), &spec); err != nil {
			t.Fatal(err)
		}
		spec.Template.Spec.Containers[0].Env = append(spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: "NEWER", Value: "1"})
		template, err := json.Marshal(spec.Template)
		if err != nil {
			t.Fatal(err)
		}
		all, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		record := ledger.Read(book).Templates[k]
		record.Version, record.Pods = record.Version+1, topology.Digest(template)
		key, value, err := ledger.EncodeTemplate(k, record)
		if err != nil {
			t.Fatal(err)
		}
		book.Data[key] = value
		set.Annotations[lastApplied], set.Spec.Template = string(all), spec.Template
		if _, err := v.kube.AppsV1().StatefulSets("db").Update(t.Context(), set, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		m := v.configMap(t, "basic-"+string(k))
		m.Data["startup-script"] += "# newer\n"
		v.update(t, m)
	}
	v.update(t, book)
}

func (v versions) update(t *testing.T, m *corev1.ConfigMap) {
	t.Helper()
	if _, err := v.kube.CoreV1().ConfigMaps("db").Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (v versions) configMap(t *testing.T, name string) *corev1.ConfigMap {
	t.Helper()
	m, err := v.kube.CoreV1().ConfigMaps("db").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (v versions) set(t *testing.T, k topology.Kind) *appsv1.StatefulSet {
	t.Helper()
	set, err := v.kube.AppsV1().StatefulSets("db").Get(t.Context(), "basic-"+string(k), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func (v versions) isNewer(t *testing.T, k topology.Kind) bool {
	t.Helper()
	return strings.Contains(v.set(t, k).Annotations[lastApplied], "NEWER")
}

// TestOlderVersionFollowsNewer: an older version of this tool does not change the pods that a newer
// one has made, because of the records in the ledger.
func TestOlderVersionFollowsNewer(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "core", "render", "testdata", "basic.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	v := versions{tc: &v1alpha1.TidbCluster{}, kube: fake.NewClientset()}
	if err := yaml.UnmarshalStrict(data, v.tc); err != nil {
		t.Fatal(err)
	}
	v.tc.Namespace, v.tc.UID = "db", "tc-uid"
	v.older(t)
	v.newer(t)
	writes := func() (calls []string) {
		for _, a := range v.kube.Actions() {
			if verb := a.GetVerb(); verb != "get" && verb != "list" {
				calls = append(calls, verb+" "+a.GetResource().Resource)
			}
		}
		return calls
	}
	v.kube.ClearActions()
	if _, s := v.older(t); len(writes()) > 0 || len(s.Gaps) > 0 {
		t.Errorf("writes %v, cannot read %v", writes(), s.Gaps)
	}
	for _, k := range []topology.Kind{topology.PD, topology.TiKV, topology.TiDB} {
		if !v.isNewer(t, k) {
			t.Errorf("pods of %s are rolled back", k)
		}
	}
	// A record that cannot be read is a gap, and counts as none.
	book := v.configMap(t, "basic-ledger")
	book.Data["template.tikv"] = "not JSON"
	v.update(t, book)
	if _, s := v.older(t); len(s.Gaps) != 1 || v.isNewer(t, topology.TiKV) || !v.isNewer(t, topology.PD) {
		t.Errorf("cannot read %v; the newer version's: TiKV %t, PD %t", s.Gaps, v.isNewer(t, topology.TiKV), v.isNewer(t, topology.PD))
	}
}
