package plan

import (
	"fmt"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Concurrency is how many members of a component a rollout restarts at the same time: a number, or a share of the
// members. The zero value is one member.
type Concurrency struct {
	Number int
	// Percent: Number is a share of the members in percent, rounded down.
	Percent bool
}

// Of returns how many members of a component that is.
func (c Concurrency) Of(members int) int {
	if c.Percent {
		return max(members*c.Number/100, 1)
	}
	return max(c.Number, 1)
}

// Batches reports whether several members may restart at the same time, if the component has enough members.
func (c Concurrency) Batches() bool { return c.Percent || c.Number > 1 }

// String returns the number as users write it, "" for the zero value.
func (c Concurrency) String() string {
	switch {
	case c == Concurrency{}:
		return ""
	case c.Percent:
		return fmt.Sprintf("%d%%", c.Number)
	}
	return fmt.Sprint(c.Number)
}

// Together says which members of a component may be restarted at the same time.
type Together struct {
	// Domain returns the failure domain of a member, "" where it is not known. The loss of a whole domain must take
	// nothing from users.
	Domain func(facts.Component, state.Member) string
	// Most returns how many members of a component may be down, whatever the user asks for; nil for no such number.
	Most func(members int) int
	// Before must hold before several members are down at the same time.
	Before []Hook
}

// batching returns how the members of a component are divided into batches in this run, nil where members restart one
// at a time. With a canary the members restart in the order of ordinals, because the canary is the highest ones. With
// OrderedReady Kubernetes makes no pod before those with lower ordinals are Ready.
func (t *Together) batching(c facts.Component, wanted Concurrency) *facts.Batching {
	if t == nil || c.Want.Held || c.Want.Manual || c.Got.Set.Manual || c.Got.Set.Ordered {
		return nil
	}
	members := c.Got.Set.Replicas
	most := min(wanted.Of(members), members)
	if t.Most != nil {
		most = min(most, t.Most(members))
	}
	if most < 2 {
		return nil
	}
	return facts.NewBatching(c, most, t.Domain)
}

// batchProven waits until several members may be down at the same time. The last member of a batch is down alone when all
// others serve again.
func (s *subject) batchProven() verdict {
	if !s.due || len(s.Away(s.member)) < 2 {
		return verdict{}
	}
	return s.pursue(s.profile.Together.Before, s.member)
}

// ordered leaves the order of restarts to the run, where a partition cannot restart the member.
func (s *subject) ordered() verdict {
	if first, needed := s.inBatches(s.member); s.due && needed {
		return act(first)
	}
	return verdict{}
}

// replaceBatch restarts the members of a batch for which all conditions hold. They need not wait for each other.
func (d *decision) replaceBatch(next state.Member) verdict {
	if !next.Up() {
		return d.replace(next)
	}
	var v verdict
	for _, m := range d.RestartsNow() {
		v = v.plus(d.replace(m))
	}
	return v
}

// restartsTogether reports whether a batch of several stores still has a store to restart.
func (d decision) restartsTogether() bool {
	if d.Batching == nil || !d.Want.Kind.Leads() || d.Want.Suspend {
		return false
	}
	return slices.ContainsFunc(d.Batches(), func(batch []state.Member) bool {
		return len(batch) > 1 && slices.ContainsFunc(batch, d.WaitsForRestart)
	})
}

// missingBeside returns the members that do not serve and that the restart of a member waits for. A member of the
// same batch counts only if it crashes again and again, or does not come back with its new pod.
func (d *decision) missingBeside(m state.Member) []state.Member {
	batch := d.BatchOf(m)
	var missing []state.Member
	for _, o := range d.PeersMissing(m) {
		late := o.Pod != nil && !o.Pod.Terminating && !d.Got.Outdated(o) && d.All.At.Sub(o.Pod.Since) >= facts.Settling
		if late || !state.Has(batch, o) || d.Loops(o) {
			missing = append(missing, o)
		}
	}
	return missing
}

// inBatches returns the step before a restart that a partition cannot do, and reports whether there is one. A partition
// that is lowered for a member lets Kubernetes restart all outdated members above as well.
func (sc Scope) inBatches(m state.Member) (step.Step, bool) {
	highest, _ := sc.HighestOutdated()
	if sc.Batching == nil || sc.Got.Set.OnDelete() || sc.RestartsOutsideRollout(m) || highest.Ordinal == m.Ordinal && len(sc.Away(m)) < 2 {
		return nil, false
	}
	return step.BeginBatches{Component: sc.Want.Kind, Basis: sc.basis()}, true
}

// Batches returns the members of a component in the order in which a run restarts them. The members of each list may be
// down at the same time.
func Batches(profiles []Profile, policy Policy, w desired.State, s state.Snapshot, k topology.Kind) [][]state.Member {
	for _, d := range decisionsOf(profiles, &policy, &w, &s) {
		if d.Want.Kind == k {
			return d.Batches()
		}
	}
	return nil
}

// Unbatchable returns why the members of components that are to be restarted cannot be restarted together, before
// anything is changed. In a run some of the reasons would be waits that may never end.
func Unbatchable(profiles []Profile, policy Policy, w desired.State, s state.Snapshot) []Gate {
	var gates []Gate
	for _, d := range decisionsOf(profiles, &policy, &w, &s) {
		if d.Batching == nil || d.profile.Together.Most != nil || !d.Rolling() || !s.PD.Known() {
			continue
		}
		if g, refused := d.unbatchable(); refused {
			gates = append(gates, g)
		}
	}
	return gates
}

func (d *decision) unbatchable() (Gate, bool) {
	for i, batch := range d.Batches() {
		if i > 0 && len(batch) < 2 {
			continue
		}
		for _, h := range d.profile.Together.Before {
			if g, refused := d.neverHolds(h, batch[0]); refused {
				return g, true
			}
		}
	}
	members := d.Got.InSet()
	most := d.mostInDomain(members)
	if d.Batching.Most <= most {
		return Gate{}, false
	}
	return Gate{
		Component: d.Want.Kind, Reason: BatchSafe, Want: "concurrency within a failure domain", Blocked: true,
		Observed: fmt.Sprintf("concurrency %s is %d of %d members, and no failure domain has more than %d", d.Policy.Concurrency, d.Batching.Most, len(members), most),
		Remedy:   remedy.Remedy{remedy.Say(fmt.Sprintf("ask for a concurrency of %d or less", most))},
	}, true
}

// neverHolds returns the gate of a condition for the batch of a member that no wait would make true.
func (d *decision) neverHolds(h Hook, m state.Member) (Gate, bool) {
	v, _ := d.try(h, m)
	for _, g := range v.gates {
		if g.Blocked || g.Left.Number > 0 {
			g.Member, g.Blocked = "", true
			g.Remedy = append(g.Remedy[:len(g.Remedy)-1:len(g.Remedy)-1], remedy.Say("run the command without --concurrency"))
			return g, true
		}
	}
	return Gate{}, false
}

// mostInDomain returns how many members the largest failure domain has.
func (d *decision) mostInDomain(members []state.Member) int {
	most, count := 1, map[string]int{}
	for _, m := range members {
		if at := d.Domain(m); at != "" {
			count[at]++
			most = max(most, count[at])
		}
	}
	return most
}
