package observe

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// isolationFresh is how long the observer uses the last counts of PD again. PD copies new counts to the metrics every
// ten seconds.
const isolationFresh = 5 * time.Second

// isolationTimeout is how long PD may take to return its metrics. The page may have some megabytes, and may come
// through a port-forward.
const isolationTimeout = 15 * time.Second

// isolation is where the copies of regions were when PD's leader was asked last. It is empty when PD did not answer.
type isolation struct {
	read   time.Time
	leader uint64 // the id of the member that led
	found  state.Isolation
}

// ReadIsolation makes the observer also read where the copies of regions are, with placement rules and stores. A run
// that restarts stores together needs all of this. No other process does, and PD's page of metrics is large. So without
// it nothing of this is read.
func (o *Observer) ReadIsolation() { o.readsIsolation = true }

// needsIsolation reports whether it is to be read where the copies of regions are. Only stores whose copies vote may
// have to stay apart.
func (o *Observer) needsIsolation(c topology.Cluster) bool {
	return o.readsIsolation && slices.ContainsFunc(c.Groups, func(g topology.Group) bool {
		return g.Kind.Data() == topology.Store && !g.Kind.Optional()
	})
}

// readCopies reads where the copies of regions are. A value that was read a moment ago counts again, unless PD's leader
// has changed since then: a new leader counts from the beginning.
func (o *Observer) readCopies(ctx context.Context, client pd.Client, c topology.Cluster, a *answers) {
	if !o.needsIsolation(c) {
		return
	}
	if len(a.stores) == 0 {
		a.isolation.Unread = "PD lists no stores"
		return
	}
	now, leader := o.now(), uint64(0)
	if l := a.members.Leader; l != nil {
		leader = l.ID
	}
	last := o.isolation
	same := last.leader == leader && !o.history.electedAgain(a.heartbeats())
	if !o.asksAll && same && now.Sub(last.read) < isolationFresh {
		a.isolation = last.found
		return
	}
	o.isolation = isolation{}
	ctx, cancel := context.WithTimeout(ctx, isolationTimeout)
	defer cancel()
	got, err := client.Isolation(ctx)
	if err != nil {
		a.isolation.Unread = problem(err)
		return
	}
	a.isolation = state.Isolation{Regions: got.Regions, Apart: got.Apart, Unsound: got.Unsound, Moving: got.Moving, Pass: got.Pass}
	o.isolation = isolation{read: now, leader: leader, found: a.isolation}
}

// heartbeats returns the last heartbeats of all stores, as PD dates them.
func (a answers) heartbeats() map[uint64]time.Time {
	all := make(map[uint64]time.Time, len(a.stores))
	for i := range a.stores {
		all[a.stores[i].ID] = a.stores[i].LastHeartbeat
	}
	return all
}

// storeLabels returns the labels of the stores that are no tombstones, also of TiFlash. What PD counts by is with them,
// under an id that no store has.
func (a answers) storeLabels() map[uint64]map[string]string {
	all := make(map[uint64]map[string]string, len(a.stores)+1)
	if len(a.stores) > 0 {
		all[0] = map[string]string{"location-labels": strings.Join(a.replication.LocationLabels, ","), "isolation-level": a.replication.IsolationLevel}
		if a.scheduling.Halted { // PD counts nothing meanwhile, and shows what it has counted before
			all[0]["halted"] = "true"
		}
	}
	for i := range a.stores {
		if s := &a.stores[i]; s.State != pd.StoreTombstone {
			all[s.ID] = s.Labels
		}
	}
	return all
}

// noteCopies adds since when stores have had their labels. Where PD does not answer, its leader may change and change
// back, so what was read before is forgotten.
func (o *Observer) noteCopies(c topology.Cluster, d *database) {
	if !d.state.Known() {
		o.isolation = isolation{}
	}
	if o.needsIsolation(c) {
		d.state.Isolation.LabelsSince = o.history.labelledSince(d.labels, o.now())
	}
}
