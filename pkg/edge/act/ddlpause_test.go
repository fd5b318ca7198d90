package act

import (
	"context"
	"errors"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestEndDDLPause: TiDB is asked first, and the record goes only when TiDB has ended the pause. Nothing is asked of TiDB
// for a record that is gone, for a pod that is another one by now, or in a paused cluster.
func TestEndDDLPause(t *testing.T) {
	step := plan.EndDDLPause{Component: topology.TiDB, Member: "basic-tidb-0", PodUID: string(pod(topology.TiDB, 0).UID)}
	refused := errors.New("refused")
	for name, tt := range map[string]struct {
		change       func(*fixture)
		uid          string
		answer       error
		asked, fails bool
		recorded     bool
	}{
		"it ends":                 {asked: true},
		"TiDB refuses":            {answer: refused, asked: true, fails: true, recorded: true},
		"the record is not ended": {change: func(w *fixture) { w.intent.fails = refused }, asked: true, fails: true, recorded: true},
		"no record":               {change: func(w *fixture) { w.intent.tc.Annotations = nil }},
		"another pod":             {uid: "uid-1", fails: true, recorded: true},
		"another TidbCluster":     {change: func(w *fixture) { w.intent.tc.UID = "another" }, fails: true, recorded: true},
		"paused":                  {change: func(w *fixture) { w.intent.tc.Spec.Paused = true }, fails: true, recorded: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, pod(topology.TiDB, 0))
			w.intent.tc.UID = cluster.UID
			w.intent.tc.Annotations = map[string]string{topology.DDLPauseAnnotations()[0]: "true", topology.DDLPauseAnnotations()[1]: "x"}
			if tt.change != nil {
				tt.change(w)
			}
			var asked bool
			w.OnDDL(func(context.Context, topology.Cluster, int) error { asked = true; return tt.answer })
			s := step
			if tt.uid != "" {
				s.PodUID = tt.uid
			}
			err := w.Do(t.Context(), s)
			if recorded := len(w.intent.tc.Annotations) > 0; (err != nil) != tt.fails || asked != tt.asked || recorded != tt.recorded {
				t.Errorf("asked %t, recorded %t, %v", asked, recorded, err)
			}
		})
	}
}
