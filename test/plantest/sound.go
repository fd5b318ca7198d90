package plantest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// sound checks what is true of all decisions: each names members by their component, and objects by
// the identity that was observed. Otherwise a step could change another object with the name. It
// panics, so that no test has to call it.
func (c *Cluster) sound(p plan.Plan) plan.Plan {
	c.explained(p)
	for _, s := range slices.Concat(p.Steps, p.Upkeep) {
		kind, member := s.Target()
		if _, end := s.(step.EndPause); end && c.Wanted.Cluster.Paused && len(p.Steps) == 1 && len(p.Upkeep) == 0 {
			continue // it is alone
		}
		c.owner(s.String(), kind, member)
		if _, apply := s.(step.Apply); kind == "" && (!apply || len(c.Wanted.Objects) == 0) {
			panic("plantest: of what component is it: " + s.String())
		}
		c.ours(s)
		m, _ := c.Seen.Groups[kind].Member(member)
		c.relies(s, m)
		for what, is := range identities(c.Seen.Groups[kind], m, s) {
			if is[0] != is[1] {
				panic(fmt.Sprintf("plantest: %s: %s is %v, want %v", s, what, is[0], is[1]))
			}
		}
	}
	for i, g := range p.Gates {
		c.waits(g)
		if slices.ContainsFunc(p.Gates[:i], func(o plan.Gate) bool { return o.Key() == g.Key() }) {
			panic("plantest: it is waited for twice: " + g.String())
		}
	}
	return p
}

// waits panics unless a gate can be understood by a user who waits for it.
func (c *Cluster) waits(g plan.Gate) {
	c.owner(g.String(), g.Component, g.Member)
	switch {
	case !slices.ContainsFunc(plan.Reasons(), func(r plan.Meaning) bool { return r.Reason == g.Reason }):
		panic(fmt.Sprintf("plantest: %s: reason %q is not one of plan.Reasons", g, g.Reason))
	case g.Want == "":
		panic(fmt.Sprintf("plantest: %s: nothing is said of it when it holds", g))
	case g.Blocked && !g.Since.IsZero() && g.Deadline.IsZero():
		panic("plantest: without an end that has passed, why is it blocked: " + g.String())
	case g.Blocked && g.Remedy.Line("") == "":
		panic("plantest: it is for a person to open, and does not say how: " + g.String())
	case !g.Deadline.IsZero() && (g.Since.IsZero() || !g.Since.Before(g.Deadline)):
		panic(fmt.Sprintf("plantest: %s: from %s to %s", g, g.Since, g.Deadline))
	}
}

// owner panics unless the member belongs to the component.
func (c *Cluster) owner(what string, kind topology.Kind, member string) {
	if member != "" && (kind == "" || !strings.HasPrefix(member, c.Wanted.Cluster.SetName(kind)+"-")) {
		panic(fmt.Sprintf("plantest: %s: %s is no member of component %q", what, member, kind))
	}
}

// ours panics if a step takes back something without a record in the ledger: another user or tool
// has done it.
func (c *Cluster) ours(s step.Step) {
	var recorded bool
	switch s := s.(type) {
	case step.AllowLeaders:
		_, recorded = c.Seen.Eviction(s.StoreID)
	case step.RestoreStore:
		_, recorded = c.Seen.Removal(s.StoreID)
	case step.ForgetRecord:
		_, eviction := c.Seen.Eviction(s.StoreID)
		_, removal := c.Seen.Removal(s.StoreID)
		recorded = s.Record == state.RecordEviction && eviction || s.Record == state.RecordRemoval && removal
	case step.EndDDLPause:
		recorded = c.Wanted.Cluster.DDLPause.Recorded
	case step.ForgetDrain:
		_, recorded = c.Seen.Drain(s.Member)
	default:
		return
	}
	if !recorded {
		panic(fmt.Sprintf("plantest: %s: the ledger has no record of it", s))
	}
}

// relies panics unless the restart of a store that serves names the eviction that PD has for it because of our record.
func (c *Cluster) relies(s step.Step, m state.Member) {
	restart, is := s.(step.Restart)
	if !is {
		return
	}
	var want uint64
	if e, recorded := c.Seen.Eviction(m.Database.ID); recorded && e.Ended.IsZero() && m.Database.Evicting && m.Up() {
		want = m.Database.ID
	}
	if restart.StoreID != want {
		panic(fmt.Sprintf("plantest: %s relies on the eviction of store %d, want %d", s, restart.StoreID, want))
	}
}

// said has the identities in a step, each with the observed one.
type said map[string][2]any

// identities returns the identities of the objects in a step.
func identities(g state.Group, m state.Member, s step.Step) said {
	for _, of := range []func(state.Group, state.Member, step.Step) (said, bool){ofDatabase, ofClaims, ofPods} {
		if is, ok := of(g, m, s); ok {
			return is
		}
	}
	switch s.(type) {
	case step.Apply, step.Resize, step.Close, step.BeginBatches, step.EndBatches, step.AllowLeaders, step.ForgetRecord, step.RetireFailure, step.ForgetFailure,
		step.EnableRules, step.LimitLeaderMoves, step.HoldRegions:
		return nil
	}
	panic("plantest: what identifies the objects of a " + reflect.TypeOf(s).Name() + "?")
}

func ofDatabase(g state.Group, m state.Member, s step.Step) (said, bool) {
	switch s := s.(type) {
	case step.MoveLeader:
		to, _ := g.Member(s.To)
		return said{"from": {s.FromName, m.Database.Name}, "to": {s.ToName, to.Database.Name}}, true
	case step.MovePrimary:
		to, _ := g.Member(s.To)
		return said{"primary": {true, m.Database.Primary}, "to": {s.ToName, to.Database.Name}}, true
	case step.RemoveMember:
		return said{"id": {s.ID, m.Database.ID}}, true
	case step.EvictLeaders:
		return said{"store": {s.StoreID, m.Database.ID}, "pod": {s.PodUID, podOf(m).UID}, "leaders": {s.Leaders, m.Database.Leaders}}, true
	case step.AdoptEviction:
		return said{"store": {s.StoreID, m.Database.ID}, "pod": {s.PodUID, podOf(m).UID}, "leaders": {s.Leaders, m.Database.Leaders}, "since": {s.Since, podOf(m).EvictionBegun}}, true
	case step.AdoptDrain:
		is := said{"pod": {s.PodUID, podOf(m).UID}}
		if !s.Since.IsZero() {
			is["since"] = [2]any{s.Since, podOf(m).DrainBegun}
		}
		return is, true
	case step.DrainCapture:
		is := said{"pod": {s.PodUID, podOf(m).UID}}
		if s.Capture != "" {
			is["capture"] = [2]any{s.Capture, m.Database.Capture.ID}
		}
		return is, true
	case step.ClosePump:
		return said{"pod": {s.PodUID, podOf(m).UID}, "node": {s.Node, m.Database.Pump.Node}, "state": {m.Database.Pump.State, state.PumpOnline}}, true
	case step.ForgetDrain:
		return said{"pod": {s.PodUID, podOf(m).UID}}, true
	case step.RemoveStore:
		return said{"store": {s.StoreID, m.Database.ID}}, true
	case step.RestoreStore:
		return said{"store": {s.StoreID, m.Database.ID}}, true
	case step.LabelStore:
		return said{"store": {s.StoreID, m.Database.ID}}, true
	case step.RecordFailure:
		return said{"id": {s.ID, m.Database.ID}, "name": {s.Name, m.Database.Name}, "claims": {len(s.Claims), len(m.Claims)}}, true
	}
	return nil, false
}

func ofClaims(_ state.Group, m state.Member, s step.Step) (said, bool) {
	switch s := s.(type) {
	case step.MarkClaims:
		return named(m, s.Claims...), true
	case step.UnmarkClaims:
		return named(m, s.Claims...), true
	case step.DeleteClaim:
		is := named(m, step.Claim{Name: s.Name, UID: s.UID})
		is["pod"] = [2]any{s.PodUID, podOf(m).UID}
		return is, true
	case step.ResizeClaim:
		is := named(m, step.Claim{Name: s.Name, UID: s.UID})
		is["from"] = [2]any{s.From, claimOf(m, s.Name).Requested}
		return is, true
	case step.ModifyClaim:
		is := named(m, step.Claim{Name: s.Name, UID: s.UID})
		is["from"] = [2]any{s.From, claimOf(m, s.Name).Attributes}
		return is, true
	case step.TendVolume:
		for _, c := range m.Claims {
			if v := c.Volume; v != nil && v.Name == s.Name {
				return said{"volume": {s.UID, v.UID}, "version": {s.Version, v.Version}}, true
			}
		}
		return said{"volume": {s.Name, "one of the member's"}}, true
	}
	return nil, false
}

func ofPods(g state.Group, m state.Member, s step.Step) (said, bool) {
	switch s := s.(type) {
	case step.EndDDLPause:
		return said{"pod": {s.PodUID, podOf(m).UID}}, true
	case step.BeginDDLPause:
		by, _ := g.Member(s.By)
		return said{"pod": {s.PodUID, podOf(by).UID}, "from": {s.From, m.Version()}}, true
	case step.SetPassword:
		return said{"pod": {s.PodUID, podOf(m).UID}}, true
	case step.Restart:
		return said{"pod": {s.PodUID, podOf(m).UID}, "ordinal": {s.Ordinal, m.Ordinal}, "partition": {s.From, g.Set.Partition}, "set": {s.Basis, basisOf(g)}}, true
	case step.DeletePod:
		return said{"pod": {s.UID, podOf(m).UID}}, true
	case step.ReplaceEnded:
		return said{"pod": {s.UID, podOf(m).UID}}, true
	case step.RemakePod:
		return said{"pod": {s.PodUID, podOf(m).UID}}, true
	case step.Label:
		if s.Object == step.PodObject {
			return said{"pod": {s.UID, podOf(m).UID}}, true
		}
		return named(m, step.Claim{Name: s.Name, UID: s.UID}), true
	case step.DeleteSet:
		return said{"set": {s.Basis, basisOf(g)}}, true
	case step.RecreateSet:
		return said{"set": {s.Basis, basisOf(g)}, "replicas": {s.Replicas, g.Set.Replicas}, "object": {s.Object.Name, s.Name}}, true
	}
	return nil, false
}

func basisOf(g state.Group) step.Basis {
	return step.Basis{UID: g.Set.UID, Generation: g.Set.Generation}
}

func podOf(m state.Member) state.Pod {
	if m.Pod == nil {
		return state.Pod{}
	}
	return *m.Pod
}

func claimOf(m state.Member, name string) state.Claim {
	for _, c := range m.Claims {
		if c.Name == name {
			return c
		}
	}
	return state.Claim{}
}

func named(m state.Member, claims ...step.Claim) said {
	is := said{}
	for _, c := range claims {
		is["claim "+c.Name] = [2]any{c.UID, claimOf(m, c.Name).UID}
	}
	return is
}
