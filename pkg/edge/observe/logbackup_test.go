package observe

import (
	"reflect"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// TestLogBackups: how far a log backup is behind is by PD's clock. Nothing is asked while PD is unknown.
func TestLogBackups(t *testing.T) {
	f := pd.NewFake(1, 1)
	f.Update(func(s *pd.FakeState) {
		s.LogBackups = []pd.LogBackup{{Task: "a", Checkpoint: noon.Add(-time.Hour), Answered: noon}, {Task: "b", Paused: true, Answered: noon}}
	})
	o := &Observer{pd: f}
	want := []state.LogBackup{{Task: "a", Behind: time.Hour}, {Task: "b", Paused: true}}
	if got, err := o.LogBackups(t.Context(), state.Snapshot{}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := o.LogBackups(t.Context(), state.Snapshot{PD: state.PD{Problem: "silent"}}); err != nil || got != nil {
		t.Errorf("%+v, %v", got, err)
	}
	f.Update(func(s *pd.FakeState) { s.Unreachable = true })
	if _, err := o.LogBackups(t.Context(), state.Snapshot{}); err == nil {
		t.Error("PD does not answer")
	}
}
