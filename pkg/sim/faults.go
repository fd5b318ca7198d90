package sim

import "github.com/kubectl-tidb/kubectl-tidb/pkg/topology"

// Faults are probabilities: those of the first group per call of the engine,
// those of the second per simulated second.
type Faults struct {
	Fail       float64 // a step fails, at once or half-way
	LostAnswer float64 // a step succeeds and seems to fail
	Delay      float64 // time passes between looking and acting
	Stale      float64 // the cache shows something old
	NoAnswer   float64 // an observation fails, or lacks a number
	Kill       float64 // the engine is killed after a step
	Stop       float64 // the engine is interrupted while it waits

	Crash     float64 // a process dies and is started again
	Lose      float64 // a host is lost for minutes
	Blind     float64 // PD cannot be asked for a while
	Forget    float64 // PD loses a scheduler
	Meddle    float64 // somebody else evicts leaders from a store
	Elsewhere float64 // PD members in another Kubernetes cluster go away
	Delete    float64 // somebody deletes a pod
	Kubectl   float64 // somebody scales a StatefulSet past us
	Intent    float64 // the user changes the intent
}

// strike makes what can go wrong in one second go wrong.
func (w *World) strike() {
	f := w.Faults
	if w.rng.Float64() >= f.total() {
		return
	}
	roll := w.rng.Float64() * f.total()
	for _, fault := range []struct {
		odds float64
		do   func()
	}{
		{f.Crash, w.crash}, {f.Lose, w.loseHost}, {f.Blind, w.blind}, {f.Forget, w.forget},
		{f.Meddle, w.meddle}, {f.Elsewhere, w.cutOff}, {f.Delete, w.deletePod}, {f.Kubectl, w.kubectlScale},
		{f.Intent, w.changeIntent},
	} {
		if roll < fault.odds {
			fault.do()
			return
		}
		roll -= fault.odds
	}
}

func (f Faults) total() float64 {
	return f.Crash + f.Lose + f.Blind + f.Forget + f.Meddle + f.Elsewhere + f.Delete + f.Kubectl + f.Intent
}

func (w *World) anyPod() (kind, int, *pod) {
	k, i := kind(w.rng.IntN(len(kinds))), w.rng.IntN(limit)
	for range limit {
		if p := w.pods[k][i]; p != nil && p.running && p.lost == 0 {
			return k, i, p
		}
		i = (i + 1) % limit
	}
	return 0, 0, nil
}

func (w *World) crash() {
	if k, i, p := w.anyPod(); p != nil {
		w.note("fault: %s crashes", w.names[k][i])
		w.halt(p, w.between(5, 90))
	}
}

func (w *World) loseHost() {
	if k, i, p := w.anyPod(); p != nil {
		seconds := w.between(30, 900)
		w.note("fault: the host of %s is lost for %d s", w.names[k][i], seconds)
		w.lose(p, seconds)
	}
}

func (w *World) deletePod() {
	if k, i, p := w.anyPod(); p != nil && !p.terminating() {
		w.note("fault: somebody deletes pod %s", w.names[k][i])
		w.remove(p)
	}
}

func (w *World) kubectlScale() {
	k := kind(w.rng.IntN(len(kinds)))
	if s := &w.sets[k]; s.exists && w.rng.IntN(6) == 0 {
		w.note("fault: somebody deletes the StatefulSet of %s without its pods", kinds[k].Title())
		*s = set{generation: s.generation + 1}
	} else if s.exists {
		spec := s.spec
		spec.replicas = min(max(0, spec.replicas-2+w.rng.IntN(4)), limit-1)
		w.note("fault: somebody scales the StatefulSet of %s to %d", kinds[k].Title(), spec.replicas)
		w.change(s, spec)
	}
}

func (w *World) blind() {
	until := w.t + w.between(5, 120)
	if w.rng.IntN(2) == 0 {
		w.note("fault: PD cannot be asked until %s", clock(until))
		w.pd.blind = until
		return
	}
	w.note("fault: PD does not speak of stores until %s", clock(until))
	w.pd.storeless = until
}

func (w *World) forget() {
	for _, s := range w.stores {
		if e := w.evicts[s.id]; e != nil && e.ours {
			w.note("fault: PD forgets the scheduler of store %d", s.id)
			delete(w.evicts, s.id)
			return
		}
	}
}

func (w *World) meddle() {
	if len(w.stores) == 0 {
		return
	}
	s := w.stores[w.rng.IntN(len(w.stores))]
	_, recorded := w.recordOf(s.id)
	switch e := w.evicts[s.id]; {
	case e == nil && recorded: // then nobody could tell it from ours
	case e == nil:
		w.note("fault: somebody evicts leaders from store %d", s.id)
		w.evicts[s.id] = &scheduler{}
	case !e.ours:
		w.note("fault: somebody allows leaders on store %d", s.id)
		delete(w.evicts, s.id)
	}
}

func (w *World) cutOff() {
	if w.Elsewhere > 0 {
		w.pd.elsewhere = w.t + w.between(10, 300)
		w.note("fault: PD members elsewhere are away until %s", clock(w.pd.elsewhere))
	}
}

// changeIntent is a user who does not wait for what he asked for before.
func (w *World) changeIntent() {
	switch w.rng.IntN(8) {
	case 0:
		w.Scale(topology.PD, 1+w.rng.IntN(5))
	case 1, 2:
		w.Scale(topology.TiKV, 3+w.rng.IntN(4))
	case 3:
		w.Scale(topology.TiDB, w.rng.IntN(4))
	case 4:
		w.Upgrade(w.template())
	case 5:
		w.Upgrade(w.template(), kinds[w.rng.IntN(len(kinds))])
	case 6:
		w.Upgrade("v1")
	case 7:
		w.Intent.Paused = !w.Intent.Paused
		w.note("user: paused %t", w.Intent.Paused)
	}
}

func (w *World) template() string {
	version := [...]string{"v1", "v2", "v3"}[w.rng.IntN(3)]
	if w.rng.IntN(4) > 0 {
		return version
	}
	return version + "-" + [...]string{noImage, crashing, deaf, refused}[w.rng.IntN(4)]
}

// calm ends all faults, also those that last, and settles the intent: what the
// user wants then is possible.
func (w *World) calm() {
	w.chaos = false
	w.note("calm")
	w.Intent.Paused = false
	for k := range kinds {
		if flaw(w.Intent.Template[k]) != "" {
			w.Upgrade("v4", kinds[k])
		}
		for _, p := range w.pods[k] {
			if p != nil && p.lost > w.t {
				p.lost = w.t
			}
		}
	}
	w.reconcileOthers()
	w.help()
	w.pd.blind, w.pd.storeless, w.pd.elsewhere = 0, 0, 0
}

// help is what a person has to do about what others did past us.
func (w *World) help() {
	for k := range kinds {
		w.rebuild(kind(k))
	}
	w.bringBack()
	w.makeRoom()
	w.tidy()
}

// rebuild is what a person has to do in the one situation that a partition
// cannot get a StatefulSet out of: a member that no revision but a new one can
// help, below members that serve with another. It is to delete the StatefulSet
// without its pods and then the pods that fail.
func (w *World) rebuild(k kind) {
	s, above := &w.sets[k], false
	for i := min(s.spec.replicas, limit) - 1; i >= 0; i-- {
		p := w.pods[k][i]
		fails := p == nil || p.flaw != ""
		if fails && (above || k == pd && w.Faults.Kubectl > 0) {
			w.note("user: make the StatefulSet of %s and %s anew", kinds[k].Title(), w.names[k][i])
			s.current, s.update = w.Intent.Template[k], w.Intent.Template[k]
			s.spec.template, s.seen = s.update, s.spec
			s.generation++
			if p != nil {
				w.remove(p)
			}
		}
		above = above || p != nil && p.flaw == ""
	}
}

// bringBack is what a person has to do about a PD that others have scaled in so
// far that it lost its quorum, and then want so: nobody can be asked any more
// who is missing.
func (w *World) bringBack() {
	own := 0
	for _, m := range w.pd.members {
		own = max(own, m.ordinal+1)
	}
	if s := &w.sets[pd]; s.spec.replicas < w.pd.quorum() && s.spec.replicas < own {
		w.note("user: scale the StatefulSet of PD back to %d", own)
		spec := s.spec
		spec.replicas = own
		w.change(s, spec)
	}
	if w.Intent.Replicas[pd] < w.pd.quorum() && w.Intent.Replicas[pd] < own && !w.hasQuorum() {
		w.Scale(kinds[pd], own)
	}
}

// makeRoom is what a person has to do about a StatefulSet that was deleted
// around more pods than are wanted.
func (w *World) makeRoom() {
	for k := range kinds {
		for i, p := range w.pods[k] {
			if p != nil && !w.sets[k].exists && w.Intent.Replicas[k] <= i {
				w.Scale(kinds[k], i+1)
			}
		}
	}
}

// tidy is what a person has to do about a claim that somebody has left behind
// past us: only a person can say that nobody needs it.
func (w *World) tidy() {
	for k := range kinds {
		if kind(k) != pd || w.pd.id != 0 {
			w.tidyClaims(kind(k))
		}
	}
}

func (w *World) tidyClaims(k kind) {
	for i, c := range w.claims[k] {
		if c != nil && !c.marked && w.pods[k][i] == nil && (c.data == 0 || w.gone(k, i)) {
			w.note("user: delete claim %s", c.name)
			c.goneAt = w.t
		}
		if p := w.pods[k][i]; c != nil && p != nil && i < w.sets[k].spec.replicas-1 && w.gone(k, i) {
			w.note("user: delete claim %s and pod %s, which can serve no more", c.name, w.names[k][i])
			c.goneAt = w.t
			w.remove(p)
		}
	}
}

// reconcileOthers leaves one scheduler of somebody else: with more of them
// leaders may have nowhere to go, which no engine can help.
func (w *World) reconcileOthers() {
	left := 0
	for _, s := range w.stores {
		if e := w.evicts[s.id]; e != nil && !e.ours {
			if left++; left > 1 {
				delete(w.evicts, s.id)
			}
		}
	}
}
