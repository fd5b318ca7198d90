package observe

import (
	"context"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// rereadAfter is how long objects are not read again while no change of them is reported. A watch
// event can be missed, and ConfigMaps and Services are not watched.
const rereadAfter = time.Minute

// Unchanged is a Source for a run that waits for PD, TiKV or TiDB: it asks the API server again only
// if objects may have changed since. Without it, each look at PD in a wait of hours would list
// everything. It is not safe for concurrent use.
type Unchanged struct {
	from Source
	now  func() time.Time

	same    bool      // nothing is known to have changed
	read    time.Time // when from was asked
	intent  *v1alpha1.TidbCluster
	objects *Objects
}

// ReadChanges has observations that need not be live read objects only when they may have changed. What
// a live one has read is kept as well, so that no later one goes back to older objects.
func (o *Observer) ReadChanges() *Unchanged {
	u := &Unchanged{from: o.live, now: o.now}
	o.changes = u
	return u
}

// Wake says whether nothing has changed since the last observation: no change was reported, and nothing
// was written. What was written may be reported only later. It counts for the next observation only: a
// run that takes a step does not wait before it looks again, and would take the step again and again.
func (u *Unchanged) Wake(same bool) { u.same = same }

// Intent implements Source.
func (u *Unchanged) Intent(ctx context.Context) (*v1alpha1.TidbCluster, error) {
	same := u.same
	u.same = false
	if same && u.objects != nil && u.now().Sub(u.read) < rereadAfter {
		return u.intent, nil
	}
	u.read, u.objects = u.now(), nil
	var err error
	u.intent, err = u.from.Intent(ctx)
	return u.intent, err
}

// Objects implements Source. It is asked after Intent.
func (u *Unchanged) Objects(ctx context.Context, c topology.Cluster) (Objects, error) {
	if u.objects != nil {
		return *u.objects, nil
	}
	got, err := u.from.Objects(ctx, c)
	if err == nil {
		u.objects = &got
	}
	return got, err
}
