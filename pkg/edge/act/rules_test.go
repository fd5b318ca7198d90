package act

import (
	"errors"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/ledger"
)

// TestEnableRules: placement rules are enabled once, and that is recorded when PD has them.
func TestEnableRules(t *testing.T) {
	const set, record = "SetReplicationConfig(map[enable-placement-rules:true])", "create configmaps"
	recorded := func() []runtime.Object {
		return []runtime.Object{ledgerMap(map[string]string{ledger.RulesKey: ledger.EncodeRules(now, 7000000000000000001)})}
	}
	for name, tt := range map[string]struct {
		objects []runtime.Object
		change  func(*pd.FakeState)
		writes  []string
		stale   bool
		err     error
	}{
		"they are disabled":                 {nil, func(*pd.FakeState) {}, []string{record, set}, false, nil},
		"there is a ledger":                 {[]runtime.Object{ledgerMap(nil)}, func(*pd.FakeState) {}, []string{"patch configmaps", set}, false, nil},
		"they are enabled now":              {nil, func(s *pd.FakeState) { s.Replication.EnablePlacementRules = true }, nil, false, nil},
		"they are enabled, and were before": {recorded(), func(s *pd.FakeState) { s.Replication.EnablePlacementRules = true }, nil, false, nil},
		"a person has disabled them again":  {recorded(), func(*pd.FakeState) {}, nil, true, nil},
		"PD is not bootstrapped":            {nil, func(s *pd.FakeState) { s.NotBootstrapped = true }, []string{set}, false, pd.ErrNotBootstrapped},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, tt.objects...)
			w.pd.Update(func(s *pd.FakeState) { s.Replication.EnablePlacementRules = false; tt.change(s) })
			err := w.Do(t.Context(), step.EnableRules{Component: topology.TiFlash})
			var old *Stale
			if errors.As(err, &old) != tt.stale || !errors.Is(err, tt.err) && !tt.stale {
				t.Errorf("%v", err)
			}
			if got := w.writes(); !slices.Equal(got, tt.writes) {
				t.Errorf("writes %q, want %q", got, tt.writes)
			}
			if len(tt.writes) < 2 {
				return
			}
			book, err := w.kube.CoreV1().ConfigMaps("db").Get(t.Context(), cluster.LedgerMap(), metav1.GetOptions{})
			if err != nil || !ledger.Read(book).RulesEnabled.Equal(now) {
				t.Errorf("recorded: %+v, %v", book, err)
			}
		})
	}
}
