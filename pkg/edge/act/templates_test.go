package act

import (
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/ledger"
)

var ours = state.Template{Version: 1, Spec: "spec", Pods: "pods"}

func withRecord(drift desired.Drift, set *appsv1.StatefulSet) step.Apply {
	return step.Apply{Component: topology.TiKV, Replicas: 3, Object: desired.Object{
		Kind: "StatefulSet", Name: set.Name, Drift: drift, Manifest: set, Record: ours,
	}}
}

func (w *fixture) recorded(t *testing.T) state.Template {
	t.Helper()
	cm, err := w.kube.CoreV1().ConfigMaps("db").Get(t.Context(), cluster.LedgerMap(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ledger.Read(cm).Templates[topology.TiKV]
}

// TestApplyRecordsTheTemplateFirst: in the other order, if the run is killed in between, an older
// version would find a newer one's template without a record, and roll it back.
func TestApplyRecordsTheTemplateFirst(t *testing.T) {
	w := newFixture(t)
	w.do(t, withRecord(desired.Missing, set(topology.TiKV, 3, 3)))
	if got := strings.Join(w.writes(), ", "); got != "create configmaps, create statefulsets" || w.recorded(t) != ours {
		t.Errorf("%s; recorded %+v", got, w.recorded(t))
	}
	w.kube.ClearActions()
	changed := set(topology.TiKV, 3, 3)
	changed.Labels["more"] = "1"
	w.do(t, withRecord(desired.Differs, changed))
	if got := strings.Join(w.writes(), ", "); got != "update statefulsets" {
		t.Errorf("the record is there, and it was: %s", got)
	}
}

// TestOlderVersionThatComesTooLate: since this process has observed the StatefulSet, a newer version
// has written the record, or the pod template. Neither is replaced, or the next run of this version
// would find the newer template without its record, and roll all pods back.
func TestOlderVersionThatComesTooLate(t *testing.T) {
	newer := state.Template{Version: 2, Spec: "spec", Pods: "newer"}
	key, value, err := ledger.EncodeTemplate(topology.TiKV, newer)
	if err != nil {
		t.Fatal(err)
	}
	book := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "db", Name: cluster.LedgerMap(), Labels: cluster.Selector(),
	}, Data: map[string]string{key: value}}
	for name, o := range map[string]struct {
		recorded   state.Template
		generation int64
	}{
		"the record is newer":      {generation: 4},
		"the StatefulSet is newer": {recorded: newer, generation: 3},
	} {
		live := set(topology.TiKV, 3, 3)
		live.Generation = 4
		w := newFixture(t, live, book)
		s := withRecord(desired.Differs, set(topology.TiKV, 3, 3))
		s.Object.Recorded, s.Object.Generation = o.recorded, o.generation
		var stale *Stale
		if err := w.Do(t.Context(), s); !errors.As(err, &stale) {
			t.Errorf("%s: %v", name, err)
		}
		if got := w.writes(); len(got) > 0 || w.recorded(t) != newer {
			t.Errorf("%s: %v; recorded %+v", name, got, w.recorded(t))
		}
	}
}

// TestNoTemplateWithoutRecord: if the record cannot be written, the StatefulSet stays as it is.
func TestNoTemplateWithoutRecord(t *testing.T) {
	w := newFixture(t)
	broken := errors.New("no quota")
	w.kube.PrependReactor("create", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, broken
	})
	if err := w.Do(t.Context(), withRecord(desired.Missing, set(topology.TiKV, 3, 3))); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if got := strings.Join(w.writes(), ", "); strings.Contains(got, "statefulsets") {
		t.Error(got)
	}
}
