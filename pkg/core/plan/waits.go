package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Moving is how long regions may take to leave a store, or stay as many as they are,
// before a person is asked to look for the cause.
const Moving = time.Hour

const (
	// unseen is how long a wait may be absent and still be the same one. After a longer
	// time, in which the API server was perhaps away, the cause of the wait is not known.
	unseen = 2 * time.Minute
	// values is how many of the last values of a wait are remembered.
	values = 8
)

// Waits are the gates of a process's last turn, and since when each of them has made no
// progress. Most gates end by themselves, or report when they cannot: the cluster knows
// since when a pod is not Ready. Where the cluster has no such time, as for a StatefulSet
// whose controller does nothing, only this keeps a wait from lasting for ever without a
// report. A new process remembers nothing, and waits longer.
type Waits []waited

type waited struct {
	gate GateKey
	// seen are the values that were observed, the latest one last. A value that comes back
	// is no progress: a PD that answers now and then would be waited for for ever.
	seen  []string
	least Quantity  // the least that was left, where that is a number
	since time.Time // when a value was new
	at    time.Time // when the gate was there last
}

// After returns what to remember of a turn in which p was decided.
func (ws Waits) After(p Plan, at time.Time) Waits {
	next := make(Waits, 0, len(p.Gates))
	for i := range p.Gates {
		g := &p.Gates[i]
		w := waited{gate: g.Key(), at: at}
		if old := ws.find(g, at); old != nil {
			w.seen, w.least, w.since = old.seen, old.least, old.since
		}
		if w.progress(g) {
			w.least, w.since = g.Left, at
			w.seen = append(slices.Clone(w.seen[max(len(w.seen)-values+1, 0):]), g.Observed)
		}
		next = append(next, w)
	}
	if len(p.Steps) > 0 {
		return next // what was done may have brought the wait about again
	}
	for _, w := range ws { // a PD that does not answer for a moment hides what waits for it
		if at.Sub(w.at) <= unseen && !slices.ContainsFunc(next, func(n waited) bool { return n.gate == w.gate }) {
			next = append(next, w)
		}
	}
	return next
}

// progress reports whether a gate is nearer to being open than it was. For a number that
// has to become zero only a new least value is progress: regions of a store that cannot
// leave are split, and become more.
func (w waited) progress(g *Gate) bool {
	if g.Left.Unit != "" && w.least.Unit == g.Left.Unit {
		return g.Left.Number < w.least.Number
	}
	return !slices.Contains(w.seen, g.Observed)
}

// find returns what is remembered of a gate, nil where nothing is.
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

// still returns since when a gate has made no progress.
func (ws Waits) still(g *Gate, at time.Time) time.Time {
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
		if g.Blocked || g.held || g.endless || s.At.Before(g.Deadline) {
			continue
		}
		since := waits.still(g, s.At)
		end := since.Add(cmp.Or(g.patience, patience))
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

// allHeld reports whether each gate opens when something else does, and nothing else
// is there that could: a component whose members all run may lack what only others
// have, such as members of PD in another Kubernetes cluster.
func allHeld(gates []Gate) bool {
	return !slices.ContainsFunc(gates, func(g Gate) bool { return !g.held })
}

// unhold lets gates end by themselves, as there is nothing else that they could wait for.
// Those that wait for an earlier component or for a rollout keep waiting as long as there
// are other gates, which report what holds those up.
func unhold(gates []Gate) {
	queued := func(g Gate) bool {
		return slices.Contains([]Reason{RolloutQueued, SuspendQueued, StatefulSetRecreated}, g.Reason)
	}
	others := slices.ContainsFunc(gates, func(g Gate) bool { return !queued(g) })
	for i := range gates {
		gates[i].held = others && queued(gates[i])
	}
}

// whereToLook is what a person can do about a wait of which nothing else is known.
func whereToLook(g Gate, c topology.Cluster, s state.Snapshot) remedy.Remedy {
	controllers := remedy.Run("see whether the controllers of Kubernetes run", remedy.Kubectl("kube-system", "get", "pods"))
	switch {
	case g.Source == FromDatabase:
		return remedy.Remedy{remedy.Run("see how PD is", pdCtl(c, s, "health"))}
	case g.Member != "":
		return remedy.Remedy{remedy.Run("see why", c.Kubectl("describe", "pod", g.Member)), controllers}
	}
	return remedy.Remedy{remedy.Run("see why", c.Kubectl("describe", "statefulset", c.SetName(g.Component))), controllers}
}
