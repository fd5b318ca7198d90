package daemon

import (
	"context"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

func version(rv string, generation int64) *wanted {
	return &wanted{packed: packed{version: rv}, generation: generation}
}

func shown(rv string) *v1alpha1.TidbCluster {
	return &v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{ResourceVersion: rv}}
}

// TestOwnWrite: only our own write of the status causes no turn, and nothing is decided on a copy
// that does not show it yet, within ownWriteTimeout.
func TestOwnWrite(t *testing.T) {
	now := time.Now()
	var e ownWrite
	if e.matches(version("", 0), version("5", 1)) || e.pending(shown(""), now) {
		t.Error("nothing was written")
	}
	e.begin("5", now)
	for name, tt := range map[string]struct {
		before, after *wanted
		want          bool
	}{
		"ours":                              {version("5", 1), version("6", 2), true},
		"another one after ours":            {version("6", 2), version("7", 3), false},
		"another one before ours":           {version("4", 1), version("5", 2), false},
		"ours and another one in one event": {version("5", 1), version("7", 3), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := e.matches(tt.before, tt.after); got != tt.want {
				t.Errorf("matches: got %t", got)
			}
		})
	}
	for name, tt := range map[string]struct {
		shown string
		after time.Duration
		want  bool
	}{
		"as it was":           {"5", time.Second, true},
		"as it was, for long": {"5", ownWriteTimeout, false},
		"as it is":            {"6", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := e.pending(shown(tt.shown), now.Add(tt.after)); got != tt.want {
				t.Errorf("pending: %t", got)
			}
		})
	}
	e.begin("", time.Time{}) // it failed
	if e.matches(version("5", 1), version("6", 2)) || e.pending(shown("5"), now) {
		t.Error("a write that failed is taken for done")
	}
}

type counter int

func (c *counter) Record(context.Context, state.Observation, desired.State, plan.Plan) error {
	*c++
	return nil
}

// TestPaced: a final status is written at once, others once a second.
func TestPaced(t *testing.T) {
	now := time.Now()
	for name, tt := range map[string]struct {
		outcome plan.Outcome
		after   time.Duration // since the last one was written
		left    time.Duration // until the next one is due; 0: it was written
	}{
		"on its way, first":      {plan.Act, time.Minute, 0},
		"on its way, again":      {plan.Wait, recordEvery / 4, recordEvery * 3 / 4},
		"on its way, a bit late": {plan.Wait, recordEvery, 0},
		"there":                  {plan.Converged, 0, 0},
		"blocked":                {plan.Blocked, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var written counter
			d := &driver{daemon: &Daemon{now: func() time.Time { return now }}}
			d.ownWrite.begin("5", now.Add(-tt.after))
			err := pacedRecorder{&written, d}.Record(t.Context(), state.Observation{}, desired.State{}, plan.Plan{Outcome: tt.outcome})
			if err != nil || d.unrecorded != tt.left || (written == 1) != (tt.left == 0) {
				t.Errorf("written %d times, due in %v, %v", written, d.unrecorded, err)
			}
		})
	}
}
