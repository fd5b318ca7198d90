package act

import (
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/ledger"
)

var ours = state.Template{Version: 1, Spec: "spec", Pods: "pods"}

func withRecord(drift desired.Drift, set *appsv1.StatefulSet) plan.Apply {
	return plan.Apply{Component: topology.TiKV, Replicas: 3, Object: desired.Object{
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
