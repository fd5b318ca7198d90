package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

const (
	// recordEvery is the shortest pause between two writes of a status while the cluster converges. Each write
	// changes the whole TidbCluster, and wakes all who watch it. The final status is written at once.
	recordEvery = time.Second
	// ownWriteTimeout is how long to wait for the mirror to show our own last
	// write.
	ownWriteTimeout = 2 * time.Second
)

// ownWrite is the last write of the status, known by the version of the TidbCluster
// that it replaced. Only one write can replace a version, so the version that
// follows is ours.
type ownWrite struct {
	mu   sync.Mutex
	over string // the replaced resourceVersion; "" for no write
	at   time.Time
}

// begin notes that a write which replaces a version begins.
func (e *ownWrite) begin(over string, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over, e.at = over, at
}

// pending reports whether a copy shows the TidbCluster as it was before that write.
// Nothing should be decided on it.
func (e *ownWrite) pending(tc *v1alpha1.TidbCluster, now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.over != "" && tc.ResourceVersion == e.over && now.Sub(e.at) < ownWriteTimeout
}

// matches reports whether a change is that write and nothing else. Each write gives
// a TidbCluster a new generation, since it has no status subresource.
func (e *ownWrite) matches(before, after *wanted) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.over != "" && before.version == e.over && after.generation == before.generation+1
}

// sinceWrite returns how long ago that write was.
func (e *ownWrite) sinceWrite(now time.Time) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return now.Sub(e.at)
}

// pacedRecorder is a Recorder that limits how often the status is written. A cluster that changes takes many turns
// per second.
type pacedRecorder struct {
	reconcile.Recorder
	d *driver
}

// Record implements reconcile.Recorder.
func (r pacedRecorder) Record(ctx context.Context, o state.Observation, w desired.State, p plan.Plan) error {
	onItsWay := p.Outcome == plan.Act || p.Outcome == plan.Wait
	if left := recordEvery - r.d.ownWrite.sinceWrite(r.d.daemon.now()); onItsWay && left > 0 {
		r.d.unrecorded = left
		return nil
	}
	return r.Recorder.Record(ctx, o, w, p)
}
