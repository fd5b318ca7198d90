package observe

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// deniedFresh is how long region labels are not read again: TiDB makes some for tables, so there can be many.
const deniedFresh = 5 * time.Second

// denied are the region labels that keep leaders where they are, as they were read last.
type denied struct {
	read  time.Time
	names []string
	gaps  []state.Gap
}

// denials reads the region labels that keep leaders where they are. They are read where leaders are to move now, and
// in a live observation. A live observation comes before each eviction, and before a person is told what keeps PD
// from an eviction. Labels that PD does not return now are those that were read before.
func (o *Observer) denials(ctx context.Context, client pd.Client, c topology.Cluster, seen objects, a *answers) {
	if len(a.stores) == 0 || a.unloaded || !o.asksAll && len(a.scheduling.Evicting) == 0 && !evictionDue(c, seen) && !a.removes(c, seen) {
		return
	}
	if now := o.now(); o.denied.read.IsZero() || now.Sub(o.denied.read) >= deniedFresh {
		names, err := client.DeniedRanges(ctx)
		var down *pd.UnavailableError
		switch {
		case errors.As(err, &down), ctx.Err() != nil && err != nil:
		case err != nil:
			o.denied = denied{read: now, gaps: []state.Gap{{What: "PD's region labels", Problem: err.Error()}}}
		default:
			o.denied = denied{read: now, names: names}
		}
	}
	a.denied, a.gaps = o.denied.names, append(a.gaps, o.denied.gaps...)
}

// evictionDue reports whether a store that leads regions is to be restarted. Then the store's pod does not have the
// update revision, or a user has named the store.
func evictionDue(c topology.Cluster, seen objects) bool {
	for _, g := range c.Groups {
		set := seen.existing.Sets[g.Kind]
		if g.Kind.Data() != topology.Store || g.Kind.Optional() || set == nil {
			continue
		}
		for _, pod := range seen.pods[g.Kind] {
			named, asked := g.Restarts[pod.Name]
			if asked && named.Pod == string(pod.UID) || podState(g.Kind, pod).Revision != set.Status.UpdateRevision {
				return true
			}
		}
	}
	return false
}

// scheduled returns what keeps PD from moving leaders or regions.
func (a answers) scheduled() state.Scheduling {
	s := a.scheduling
	return state.Scheduling{
		Halted: s.Halted, NoLeaders: s.LeaderLimit == 0, NoReplicas: s.ReplicaLimit == 0, KeepsOffline: s.KeepsOffline,
		Evicting: s.Evicting, NoBatch: len(s.Evicting) > 0 && s.Batch == 0, EvictionPaused: s.Paused,
		NoBalance: s.RegionLimit == 0, NoBalancer: s.NoBalancer, BalancerPaused: a.balancerPaused, Tolerance: max(s.Tolerance, 0),
		LowSpaceRatio: s.LowSpaceRatio,
		Denied:        a.denied, NoAdding: s.NoAdding, NoRemoving: s.NoRemoving,
	}
}

// readBalancer reads whether the balance-region scheduler is paused, where a replacement waits until PD has balanced the
// regions of stores. What PD does not answer is not known to be paused.
func (a *answers) readBalancer(ctx context.Context, client pd.Client, c topology.Cluster, seen objects) {
	if len(a.stores) == 0 || a.unloaded || !awaitsBalance(c, seen) {
		return
	}
	paused, err := client.PausedSchedulers(ctx)
	a.balancerPaused = err == nil && slices.Contains(paused, pd.BalanceRegion)
}

// awaitsBalance reports whether a member that is still to be replaced waits for balance.
func awaitsBalance(c topology.Cluster, seen objects) bool {
	for _, g := range c.Groups {
		for _, claims := range seen.claims[g.Kind] {
			for _, r := range g.Replacements {
				if r.WaitBalanced && slices.ContainsFunc(claims, func(c state.Claim) bool { return slices.Contains(r.Claims, c.UID) }) {
					return true
				}
			}
		}
	}
	return false
}
