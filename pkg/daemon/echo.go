package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/reconcile"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
)

const (
	// recordEvery is how often a status is written at most while the cluster is on
	// its way: each write is one of the whole TidbCluster, and wakes all who watch
	// it. What it comes to is written at once.
	recordEvery = time.Second
	// patience is how long the mirror is waited for to show our own last write.
	patience = 2 * time.Second
)

// echo knows the last status that was written, by the version of the TidbCluster
// that it was written over. A write over a version succeeds only once, so that
// what comes after that version is ours.
type echo struct {
	mu   sync.Mutex
	over string // "" for none
	at   time.Time
}

// wrote: a status is being written over a version.
func (e *echo) wrote(over string, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over, e.at = over, at
}

// pending tells whether a copy shows the TidbCluster as it was before that.
func (e *echo) pending(tc *v1alpha1.TidbCluster, now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.over != "" && tc.ResourceVersion == e.over && now.Sub(e.at) < patience
}

// heard tells whether a change is that write and nothing else. Each write gives a
// TidbCluster another generation, since its status is a part of it as any other.
func (e *echo) heard(before, after *wanted) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.over != "" && before.version == e.over && after.generation == before.generation+1
}

// since is for how long nothing has been written.
func (e *echo) since(now time.Time) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return now.Sub(e.at)
}

// paced is a Recorder for a cluster that is looked at many times a second while it
// changes.
type paced struct {
	reconcile.Recorder
	d *driver
}

// Record implements reconcile.Recorder.
func (r paced) Record(ctx context.Context, o state.Observation, w plan.Wanted, p plan.Plan) error {
	onItsWay := p.Outcome == plan.Act || p.Outcome == plan.Wait
	if left := recordEvery - r.d.echo.since(r.d.home.now()); onItsWay && left > 0 {
		r.d.unrecorded = left
		return nil
	}
	return r.Recorder.Record(ctx, o, w, p)
}
