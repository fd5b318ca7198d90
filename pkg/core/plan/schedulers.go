package plan

import (
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// loadTime is how long PD may take to load its schedulers. Before v7.3 that is up to five minutes
// after its leader has changed.
const loadTime = 6 * time.Minute

// schedulersLoading returns the gate of a step that creates or removes evict-leader schedulers. The gate is
// closed while PD has not loaded its schedulers. A scheduler that is removed then comes back, and a
// scheduler that is created then makes PD lose the others.
func schedulersLoading(c topology.Cluster, s state.Snapshot) (Gate, bool) {
	if !s.PD.Known() || !s.PD.SchedulersUnknown {
		return Gate{}, false
	}
	g := Gate{
		Reason: SchedulersLoaded, Want: "PD has loaded its schedulers", Source: FromDatabase,
		Remedy: remedy.Remedy{remedy.Run("before v7.3 PD takes up to five minutes after its leader has changed; if it takes longer, have another member lead",
			PDCtl(c, s, "member leader resign"))},
	}
	if since := s.PD.LeaderSince; !since.IsZero() {
		g.Since, g.Deadline = since, since.Add(loadTime)
		g.Blocked = !s.At.Before(g.Deadline)
	}
	return g, true
}

// endObsolete ends what no component ends. These are evictions of stores that belong to no member
// any more, because PD keeps a scheduler for ever. Records of removals that are over are ended as
// well.
func endObsolete(c topology.Cluster, s state.Snapshot) verdict {
	if !s.PD.Known() || len(s.Evictions)+len(s.Removals) == 0 {
		return verdict{}
	}
	owner, unknown := map[uint64]state.Member{}, map[string]bool{}
	for _, g := range s.Groups {
		for _, m := range g.Members {
			if m.Database.ID != 0 {
				owner[m.Database.ID] = m
			}
			unknown[m.Name] = m.Database.Presence == state.Unknown
		}
	}
	var lost []state.Eviction
	for _, e := range s.Evictions {
		if _, owned := owner[e.StoreID]; !owned && !unknown[e.Member] {
			lost = append(lost, e)
		}
	}
	v := endEvictions(c, s, lost)
	for _, r := range s.Removals {
		m, owned := owner[r.StoreID]
		if s.PD.Bootstrapped && !unknown[r.Member] && (!owned || m.Database.State == state.StoreTombstone) {
			v.steps = append(v.steps, step.ForgetRecord{Component: storesOf(c, r.Member), Member: r.Member, StoreID: r.StoreID, Record: state.RecordRemoval})
		}
	}
	return v
}

// storesOf returns the component of a store that is known only by its member's name.
func storesOf(c topology.Cluster, member string) topology.Kind {
	for _, k := range topology.Kinds() {
		if _, ok := c.Ordinal(k, member); ok && k.Data() == topology.Store {
			return k
		}
	}
	return ""
}

// endEvictions ends evictions, as soon as PD can be asked to.
func endEvictions(c topology.Cluster, s state.Snapshot, evictions []state.Eviction) verdict {
	var v verdict
	for _, e := range evictions {
		if g, wait := schedulersLoading(c, s); wait && e.Ended.IsZero() {
			v.gates = []Gate{g}
			continue
		}
		v.steps = append(v.steps, step.AllowLeaders{Member: e.Member, StoreID: e.StoreID})
	}
	return v
}

// adoptEvictions takes over evictions that tidb-operator began and does not continue, since this
// process drives now. tidb-operator marks the pod of a store that it evicts region leaders from.
// Without this the scheduler would stay for ever. The mark is removed in any case: once it is out
// of date, a scheduler that a person creates would look like one of tidb-operator.
func adoptEvictions(c topology.Cluster, s state.Snapshot) verdict {
	var v verdict
	for _, m := range s.Groups[topology.TiKV].Members {
		if m.Pod == nil || m.Pod.Terminating || m.Pod.EvictionBegun.IsZero() || m.Database.Presence != state.Present {
			continue
		}
		if g, wait := schedulersLoading(c, s); wait {
			return verdict{gates: []Gate{g}}
		}
		_, ours := s.Eviction(m.Database.ID)
		v.steps = append(v.steps, step.AdoptEviction{
			Member: m.Name, StoreID: m.Database.ID, PodUID: m.Pod.UID,
			Since: m.Pod.EvictionBegun, Leaders: m.Database.Leaders, Ended: ours || !m.Database.Evicting,
		})
	}
	return v
}
