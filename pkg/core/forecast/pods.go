package forecast

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// starting is how long a pod takes to be ready, in which steps for other members are decided.
const starting = 6 * turnTime

// happen is what happens by itself in a turn. Data moves only when all else is done: it takes longest.
func (w *world) happen(steps bool) {
	w.changed = false
	w.snap.At = w.snap.At.Add(turnTime)
	for _, k := range topology.Kinds() {
		if _, there := w.snap.Groups[k]; !there {
			continue
		}
		w.leave(k)
		w.scale(k)
		w.roll(k)
		w.start(k)
		w.trim(k)
	}
	w.moveFast()
	if !w.changed && !steps {
		w.moveData()
	}
	w.count()
}

// leave is the end of pods, and of claims and StatefulSets whose pods have ended.
func (w *world) leave(k topology.Kind) {
	g := w.snap.Groups[k]
	left := 0
	for i := range g.Members {
		m := &g.Members[i]
		switch {
		case m.Pod == nil:
		case g.Set.Terminating && !m.Pod.Terminating:
			w.stop(m)
			left++
		case m.Pod.Terminating:
			m.Pod, w.changed = nil, true
		default:
			left++
		}
		w.dropClaims(m)
	}
	if g.Set.Terminating && left == 0 {
		w.set(k, func(s *state.Set) { *s = state.Set{Ordered: s.Ordered} })
		w.changed = true
	}
}

// scale makes and deletes pods, so that there are as many as replicas.
func (w *world) scale(k topology.Kind) {
	g := w.snap.Groups[k]
	if !g.Set.Exists || g.Set.Terminating {
		return
	}
	for i := range g.Members {
		m := &g.Members[i]
		switch {
		case g.Set.Has(m.Ordinal) && m.Pod == nil:
			if !w.lasting[m.Name] && !terminating(m.Claims) {
				w.create(g.Set, m)
			}
			if g.Set.Ordered {
				return
			}
		case g.Set.Has(m.Ordinal):
			if g.Set.Ordered && !m.Pod.Ready {
				return
			}
		case m.Pod != nil && !m.Pod.Terminating:
			w.stop(m)
		}
	}
}

func terminating(claims []state.Claim) bool {
	return slices.ContainsFunc(claims, func(c state.Claim) bool { return c.Terminating })
}

// create makes a pod, with the revision that Kubernetes gives it.
func (w *world) create(set state.Set, m *state.Member) {
	g := w.group(m.Kind)
	p := &state.Pod{
		UID: w.uid(), Revision: set.UpdateRevision, Made: w.snap.At, Since: w.snap.At, Node: "forecast",
		Version: g.Version, Binlog: g.Binlog && m.Kind.Data() == topology.None, Claims: w.claim(set, m),
	}
	if m.Ordinal < set.Partition && !set.Completed() {
		p.Revision = set.CurrentRevision
		if old, ok := w.snap.Groups[m.Kind].At(set.Ordinals().All()[0]); ok && old.Pod != nil {
			p.Version, p.Binlog = old.Pod.Version, old.Pod.Binlog
		}
	}
	m.Pod, w.changed, w.joining[m.Name] = p, true, true
}

// stop deletes a pod.
func (w *world) stop(m *state.Member) {
	if m.Pod == nil || m.Pod.Terminating {
		return
	}
	w.changed, w.lasting[m.Name] = true, false
	m.Pod.Terminating, m.Pod.Ready, m.Pod.Since, m.Pod.Started = true, false, w.snap.At, m.Pod.Made
	m.Database.Healthy, m.Database.Answer = false, state.NotAsked
	if m.Kind.Data() == topology.None {
		m.Database = state.Database{}
	}
}

// roll replaces the next pod of an earlier revision, when all before it are back.
func (w *world) roll(k topology.Kind) {
	g := w.snap.Groups[k]
	if !g.Set.Exists || g.Set.OnDelete() || g.Set.Terminating {
		return
	}
	running := g.InSet()
	current := true
	for _, m := range running {
		current = current && m.Pod != nil && m.Pod.Ready && !g.Outdated(m)
	}
	if current && !g.Set.Completed() {
		w.set(k, func(s *state.Set) { s.CurrentRevision = s.UpdateRevision })
		w.changed = true
	}
	for _, m := range slices.Backward(running) {
		switch {
		case m.Ordinal < g.Set.Partition:
			return
		case m.Pod == nil:
			return
		case g.Outdated(m):
			w.stop(w.member(k, m.Name))
			return
		case !m.Pod.Ready:
			return
		}
	}
}

// start is the start of processes, a while after their pods were made.
func (w *world) start(k topology.Kind) {
	g := w.snap.Groups[k]
	for i := range g.Members {
		m := &g.Members[i]
		if m.Pod == nil || m.Pod.Terminating || m.Pod.Ended || w.lasting[m.Name] {
			continue
		}
		if w.snap.At.Sub(m.Pod.Made) < starting {
			w.changed = true
			continue
		}
		if !m.Pod.Ready {
			m.Pod.Ready, m.Pod.Ran, m.Pod.Since, m.Pod.Started, m.Pod.Problem = true, true, w.snap.At, w.snap.At, ""
			w.changed = true
		}
		if w.joining[m.Name] {
			serves[k.Data()](w, m)
			w.joining[m.Name] = !m.Up()
		}
	}
}

// trim forgets the members that the StatefulSet has not, as far as nothing of them is left.
func (w *world) trim(k topology.Kind) {
	g := w.snap.Groups[k]
	g.Members = slices.DeleteFunc(g.Members, func(m state.Member) bool {
		left := m.Pod != nil || len(m.Claims) > 0 || m.Database.Presence == state.Present && !m.Database.Removed()
		return !left && !g.Set.Has(m.Ordinal)
	})
	w.snap.Groups[k] = g
}
