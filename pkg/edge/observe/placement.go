package observe

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/placement"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// rulesFresh is how long placement rules are not read again while stores are removed. TiDB makes rules for each
// table of a placement policy, so there can be many.
const rulesFresh = time.Minute

// rulesTimeout is how long PD may take to return its placement rules. There may be thousands, and they may come
// through a port-forward.
const rulesTimeout = 15 * time.Second

// rules are placement rules as they were read last, or that PD refused to return
// them.
type rules struct {
	read time.Time
	sets [][]state.PlacementRule
	gaps []state.Gap
}

// placement reads what the removal of a store is checked against, where a removal
// is wanted or has begun. A run that restarts stores together needs the same. Rules
// that PD refuses to return are a gap. Where PD does not answer now they are unknown,
// and only what needs them waits. They are unknown as well where nothing needs them.
func (o *Observer) placement(ctx context.Context, client pd.Client, c topology.Cluster, seen objects, a *answers) {
	if together := o.needsIsolation(c) && len(a.stores) > 0; !together && !a.removes(c, seen) {
		a.placement.Unread = "they are read where a store is to be removed"
		return
	}
	for _, s := range a.stores {
		if s.State != pd.StoreTombstone {
			a.placement.Stores = append(a.placement.Stores, state.Store{
				ID: s.ID, State: state.StoreState(s.StateName), Labels: s.Labels,
				Capacity: topology.Size(s.Capacity), Available: topology.Size(s.Available), Regions: s.RegionCount,
			})
		}
	}
	if !a.replication.EnablePlacementRules {
		a.placement.Rules = [][]state.PlacementRule{{a.configured("", "")}}
		return
	}
	fresh := rulesFresh
	if o.needsIsolation(c) { // each restart of a batch relies on them
		fresh = isolationFresh
	}
	if now := o.now(); now.Sub(o.rules.read) >= fresh {
		ctx, cancel := context.WithTimeout(ctx, rulesTimeout)
		defer cancel()
		groups, err := client.PlacementRules(ctx)
		var down *pd.UnavailableError
		switch {
		case errors.As(err, &down), ctx.Err() != nil && err != nil:
			a.placement.Unread = problem(err)
			return
		case err != nil:
			o.rules = rules{read: now, gaps: []state.Gap{{
				What: "PD's placement rules", Problem: err.Error(),
				Remedy: remedy.Remedy{remedy.Run("only max-replicas is checked before a store is removed; see whether other stores can take its regions",
					c.PDCtl(a.servingPod(c), "config placement-rules show"))},
			}}}
		default:
			o.rules = rules{read: now, sets: placement.ByRange(a.rules(groups))}
			o.nameTables(ctx, c, seen, o.rules.sets)
		}
	}
	a.placement.Rules = o.rules.sets
	a.gaps = append(a.gaps, o.rules.gaps...)
}

// removes reports whether a store of the cluster is to be removed or is being removed. The store's ordinal is not
// wanted, or the store is Offline or was given up with its data. Claims that are being deleted or replaced mean the same.
func (a answers) removes(c topology.Cluster, seen objects) bool {
	for _, g := range c.Groups {
		if g.Kind.Data() != topology.Store {
			continue
		}
		if slices.ContainsFunc(g.Failures, func(f topology.Failure) bool { return f.Discarded && !f.Deleted }) {
			return true
		}
		for _, claims := range seen.claims[g.Kind] {
			if slices.ContainsFunc(claims, func(c state.Claim) bool { return c.Terminating || g.ReplacesClaim(c.UID) }) {
				return true
			}
		}
	}
	return slices.ContainsFunc(a.stores, func(s pd.Store) bool {
		k, n, ours := storeOwner(c, &s)
		want, wanted := c.Group(k)
		return ours && wanted && (s.State == pd.StoreOffline || s.State == pd.StoreUp && !want.Has(n))
	})
}

// configured returns the rule that follows from PD's replication settings: the only
// one while placement rules are disabled.
func (a answers) configured(group, id string) state.PlacementRule {
	r := a.replication
	return state.PlacementRule{
		Group: group, ID: id, Role: "voter", Count: r.MaxReplicas, LocationLabels: r.LocationLabels, IsolationLevel: r.IsolationLevel,
		Configured: true,
	}
}

// rules returns the rules of PD's groups. The default rule changes with the replication
// settings as long as it was not edited.
func (a answers) rules(groups []pd.RuleGroup) []placement.Rule {
	var all []placement.Rule
	for _, g := range groups {
		for _, r := range g.Rules {
			rule := placement.Rule{
				PlacementRule: state.PlacementRule{
					Group: g.ID, ID: r.ID, Role: r.Role, Count: r.Count, LocationLabels: r.LocationLabels, IsolationLevel: r.IsolationLevel,
					Tables: tableOf(g.ID, r.ID),
				},
				Start: strings.ToLower(r.StartKey), End: strings.ToLower(r.EndKey),
				GroupIndex: g.Index, Index: r.Index, GroupOverride: g.Override, Override: r.Override,
			}
			for _, c := range r.Constraints {
				rule.Constraints = append(rule.Constraints, state.LabelConstraint{Key: c.Key, Op: c.Op, Values: c.Values})
			}
			same := a.configured("pd", "default")
			rule.Configured = g.ID == same.Group && r.ID == same.ID && r.StartKey == "" && r.EndKey == "" && len(r.Constraints) == 0 &&
				r.Count == same.Count && r.IsolationLevel == same.IsolationLevel && slices.Equal(r.LocationLabels, same.LocationLabels)
			all = append(all, rule)
		}
	}
	return all
}
