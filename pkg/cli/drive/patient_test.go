package drive

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// A single reading without PD does not refuse a request.
func TestPatient(t *testing.T) {
	born := basic(func(tc *v1alpha1.TidbCluster) { tc.Status.ClusterID = "7" })
	upgrade := propose(Request{Change: intent.Change{Now: born, Want: born, Write: func(context.Context, intent.Write) error { return nil }}})
	broken := errors.New("the API server does not answer")
	for _, c := range []struct {
		name   string
		unread int // so many readings are without PD
		err    error
		atMost time.Duration
		want   int // so many readings
		known  bool
	}{
		{"PD answers", 0, nil, time.Minute, 1, true},
		{"PD answers nobody for a moment", 2, nil, time.Minute, 3, true},
		{"PD never answers", 1000, nil, time.Nanosecond, 1, false},
		{"nothing can be read", 1000, broken, time.Minute, 1, false},
	} {
		readings := 0
		seen, err := upgrade.patient(t.Context(), c.atMost, func() (state.Observation, error) {
			cluster := plantest.New(3, 3, 2)
			if readings++; readings <= c.unread {
				cluster.PDUnknown()
			}
			return state.Observation{Snapshot: cluster.Seen}, c.err
		})
		if !errors.Is(err, c.err) || readings != c.want || seen.Snapshot.PD.Known() != c.known {
			t.Errorf("%s: %d readings, known %t, %v", c.name, readings, seen.Snapshot.PD.Known(), err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	_, err := upgrade.patient(ended, time.Minute, func() (state.Observation, error) {
		end()
		return state.Observation{Snapshot: plantest.New(3, 3, 2).PDUnknown().Seen}, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
