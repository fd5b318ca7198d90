package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Moving is how long the number of regions on a store that leaves may stay the same. After that a
// person is asked to look for the cause.
const Moving = time.Hour

const (
	// unseen is how long a wait may be absent and still be the same one. After a longer
	// time, in which the API server was perhaps away, the cause of the wait is not known.
	unseen = 2 * time.Minute
	// values is how many of the last values of a wait are remembered.
	values = 8
)

// Waits are the gates of a process's last turn, and since when each of them has made no progress.
// Most gates end by themselves, or have a time from the cluster, such as since when a pod is
// NotReady. For a StatefulSet whose controller does nothing, for example, the cluster has no such
// time. Then only Waits prevent that a wait lasts for ever without a report. A new process
// remembers nothing, and waits longer.
type Waits []waited

type waited struct {
	gate GateKey
	// seen are the values that were observed, the latest one last. A value that was seen before is
	// no progress: otherwise the wait for a PD that answers from time to time would never end.
	seen  []string
	least Quantity  // the lowest number that was left, where there is one
	since time.Time // when the last new value was seen
	at    time.Time // when the gate was there last
}

// After returns what to remember after a turn in which p was decided.
func (ws Waits) After(p Plan, at time.Time) Waits {
	next := make(Waits, 0, len(p.Gates))
	for i := range p.Gates {
		g := &p.Gates[i]
		w := waited{gate: g.Key(), at: at}
		if old := ws.find(g, at); old != nil {
			w.seen, w.least, w.since = old.seen, old.least, old.since
		}
		if w.progress(g) {
			if w.since = at; g.Left.Unit != "" {
				w.least = g.Left // it stays while the number is unknown
			}
			w.seen = append(slices.Clone(w.seen[max(len(w.seen)-values+1, 0):]), g.Observed)
		}
		next = append(next, w)
	}
	if len(p.Steps) > 0 {
		return next // a step may have caused the wait again
	}
	for _, w := range ws { // while PD does not answer, gates that need its answer are absent
		if at.Sub(w.at) <= unseen && !slices.ContainsFunc(next, func(n waited) bool { return n.gate == w.gate }) {
			next = append(next, w)
		}
	}
	return next
}

// progress reports whether a gate is nearer to its goal than before. For a number that has to
// become zero only a new lowest value is progress. Regions of a store that cannot leave are split,
// and their number grows.
func (w waited) progress(g *Gate) bool {
	if g.Left.Unit != "" && w.least.Unit == g.Left.Unit {
		return g.Left.Number < w.least.Number
	}
	return !slices.Contains(w.seen, g.Observed)
}

// find returns what is remembered about a gate, nil for nothing.
func (ws Waits) find(g *Gate, at time.Time) *waited {
	if len(ws) == 0 {
		return nil
	}
	key := g.Key()
	for i := range ws {
		if w := &ws[i]; w.gate == key && at.Sub(w.at) <= unseen {
			return w
		}
	}
	return nil
}

// standsStillSince returns since when a gate has made no progress.
func (ws Waits) standsStillSince(g *Gate, at time.Time) time.Time {
	if w := ws.find(g, at); w != nil && !w.progress(g) {
		return w.since
	}
	return at
}

// bounded gives each gate an end. A gate without a deadline of its own is Blocked when it
// has made no progress for long, and says what to do. One that may take longer than usual
// says until when.
func bounded(gates []Gate, waits Waits, c *topology.Cluster, s *state.Snapshot) []Gate {
	for i := range gates {
		g := &gates[i]
		if g.Blocked || g.Approval || g.waitsForOthers || g.endless || s.At.Before(g.Deadline) {
			continue
		}
		since := waits.standsStillSince(g, s.At)
		end := since.Add(cmp.Or(g.patience, facts.TimeToServe))
		g.Blocked = !s.At.Before(end)
		if !g.Blocked && g.patience == 0 {
			continue
		}
		if g.Deadline = end; g.Since.IsZero() {
			g.Since = since
		}
		if g.Blocked && g.Remedy == nil {
			g.Remedy = whereToLook(*g, *c, *s)
		}
	}
	return gates
}

// allWaitForOthers reports whether no gate is left that could pass by itself, because each gate waits for something else. A component whose members all run may lack something that is outside this cluster,
// such as members of PD in another Kubernetes cluster.
func allWaitForOthers(gates []Gate) bool {
	return !slices.ContainsFunc(gates, func(g Gate) bool { return !g.waitsForOthers })
}

// endByThemselves gives gates an end of their own, since there is nothing else that they could wait for.
// Gates that wait for an earlier component or for a rollout keep waiting as long as there are other
// gates, which report the cause.
func endByThemselves(gates []Gate) {
	queued := func(g Gate) bool {
		return slices.Contains([]Reason{RolloutQueued, SuspendQueued, StatefulSetRecreated}, g.Reason)
	}
	others := slices.ContainsFunc(gates, func(g Gate) bool { return !queued(g) })
	for i := range gates {
		gates[i].waitsForOthers = others && queued(gates[i])
	}
}

// whereToLook returns what a person can do about a wait about which nothing else is known.
func whereToLook(g Gate, c topology.Cluster, s state.Snapshot) remedy.Remedy {
	controllers := remedy.Run("see whether the controllers of Kubernetes run", remedy.Kubectl("kube-system", "get", "pods"))
	switch {
	case g.Source == FromDatabase:
		return remedy.Remedy{remedy.Run("see how PD is", PDCtl(c, s, "health"))}
	case g.Member != "":
		return remedy.Remedy{remedy.Run("see why", c.Kubectl("describe", "pod", g.Member)), controllers}
	}
	return remedy.Remedy{remedy.Run("see why", c.Kubectl("describe", c.SetResource(), c.SetName(g.Component))), controllers}
}
