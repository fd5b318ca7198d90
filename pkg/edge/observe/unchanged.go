package observe

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// checkEvery is how often one part of what was read is read again while no change is reported. A watch event can be
// missed, and ConfigMaps, Services and Secrets are not watched. One part after the other, since a wait may take
// hours: all of them at once would be ten requests, of which nothing is learnt.
const checkEvery = 30 * time.Second

// partial is a Source of which one part can be read again.
type partial interface {
	Source
	// Part reads the part of the objects that parts[n] names.
	Part(ctx context.Context, c topology.Cluster, n int, into *Objects) error
}

// Unchanged is a Source for a run that waits for PD, TiKV or TiDB. It asks the API server again only if objects may
// have changed since. Without it, each look at PD in a wait of hours would list everything. It is not safe for
// concurrent use.
type Unchanged struct {
	from partial
	now  func() time.Time

	same    bool      // nothing is known to have changed
	read    time.Time // when all of it was read
	checked time.Time // when a part was read last
	next    int       // which part is read again next: the TidbCluster, the objects, or the objects that are read by name
	intent  *v1alpha1.TidbCluster
	cluster topology.Cluster
	objects *Objects

	mu    sync.Mutex
	named map[string]any // what was read by its name
}

// ReadChanges has observations that need not be live read objects only when they may have changed. What
// a live one has read is kept as well, so that no later one goes back to older objects.
func (o *Observer) ReadChanges() *Unchanged {
	u := &Unchanged{from: o.live, now: o.now}
	o.changes = u
	return u
}

// Wake says whether nothing has changed since the last observation: no change was reported, and nothing was written.
// What was written may be reported only later. It counts for the next observation only. A run that takes a step does
// not wait before it looks again, and would take the step again and again.
func (u *Unchanged) Wake(same bool) { u.same = same }

// Intent implements Source.
func (u *Unchanged) Intent(ctx context.Context) (*v1alpha1.TidbCluster, error) {
	same := u.same
	u.same = false
	if same && u.objects != nil && u.confirmed(ctx) {
		return u.intent, nil
	}
	u.read, u.checked, u.objects = u.now(), u.now(), nil
	u.forget("")
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
		u.objects, u.cluster = &got, c
	}
	return got, err
}

// confirmed reads the next part again if that is due, and reports whether it is as before. If it is not,
// events were missed, and the other parts may be outdated as well.
func (u *Unchanged) confirmed(ctx context.Context) bool {
	if u.now().Sub(u.checked) < checkEvery {
		return true
	}
	u.checked = u.now()
	names := u.names()
	n := u.next % (1 + len(parts) + len(names))
	u.next = n + 1
	switch {
	case n == 0:
		live, err := u.from.Intent(ctx)
		return err == nil && version(live) == version(u.intent)
	case n <= len(parts):
		live := *u.objects
		err := u.from.Part(ctx, u.cluster, n-1, &live)
		return err == nil && slices.Equal(live.versions(), u.objects.versions())
	}
	u.forget(names[n-1-len(parts)])
	return true
}

func (u *Unchanged) names() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Sorted(maps.Keys(u.named))
}

// forget drops what was read by names that begin so.
func (u *Unchanged) forget(prefix string) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.named, func(name string, _ any) bool { return strings.HasPrefix(name, prefix) })
}

// named returns what was read by this name before, as long as nothing is known to have changed. Else it reads again.
// What get does not return as final is read again the next time. It is safe for concurrent use.
func named[T any](u *Unchanged, name string, get func() (got T, final bool)) T {
	if u == nil {
		got, _ := get()
		return got
	}
	u.mu.Lock()
	known, ok := u.named[name]
	u.mu.Unlock()
	if ok {
		return known.(T)
	}
	got, final := get()
	if final {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.named == nil {
			u.named = map[string]any{}
		}
		u.named[name] = got
	}
	return got
}

// readAt returns when what an observation has of Kubernetes was read.
func (o *Observer) readAt() time.Time {
	if o.changes != nil {
		return o.changes.read
	}
	return o.now()
}
