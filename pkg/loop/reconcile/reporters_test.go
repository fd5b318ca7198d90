package reconcile

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestReporters: all reporters receive the same events, and a step with the name of its action.
func TestReporters(t *testing.T) {
	var one, two fakes
	st := NewProgress("ns", "t", func() time.Time { return plantest.Now }, Reporters{&one, &two})
	done := st.Started(step.EvictLeaders{Member: "t-tikv-2"})
	done(errBroken)
	st.Failed(errBroken)
	for _, s := range []fakes{one, two} {
		if len(s.events) != 3 {
			t.Fatalf("got %d events", len(s.events))
		}
		for i, action := range []string{"EvictLeaders", "EvictLeaders", ""} {
			if got := s.events[i].Action; got != action {
				t.Errorf("%s: action %q, want %q", s.events[i].Type, got, action)
			}
		}
	}
}
