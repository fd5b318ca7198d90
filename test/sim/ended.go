package sim

import (
	"math/rand/v2"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// Pods in a final phase: a kubelet evicts a pod, or ends it since its host shuts down. The phase may be reported before
// the process has ended. As in a pod that is Terminating, the process is about to end, so that it counts as not
// serving. By the status of the pod nothing runs. Kubernetes starts nothing in such a pod again. In half of the runs
// the StatefulSet controller deletes it, as it does in all phases since Kubernetes 1.29.

// earlyPhase is how long a process may run at most, in seconds, after its pod was reported to have ended.
const earlyPhase = 60

// drawEnded has pods end in one simulated cluster in four. That is drawn separately, so that the other runs stay as
// they are.
func drawEnded(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 33))
	if rng.IntN(4) > 0 {
		return
	}
	o.Faults.EndPod, o.KeepEnded = pick(rng, 1./300, 1./100), rng.IntN(2) == 0
}

// endPod ends the pod of any member.
func (w *Model) endPod() {
	if k, i, p := w.anyPod(); p != nil && !p.ended && !p.terminating() {
		early := w.rng.Int64N(earlyPhase)
		w.note("fault: pod %s is evicted by its kubelet, and its process ends after %d s", w.names[k][i], early)
		w.evict(p, early)
	}
}

// evict has the phase of a pod be final from now on. Its process runs for a while longer.
func (w *Model) evict(p *pod, early int64) {
	p.ended, p.endsAt = true, w.t+early
	p.unreported = max(p.unreported, p.endsAt)
	w.setReady(p, false, "pod failed: Evicted")
}

// unready has Kubernetes call a pod NotReady that has ended, or whose host it does not hear of. It ends the process of
// an ended pod when it is time.
func (w *Model) unready(p *pod) {
	if !p.ended {
		w.setReady(p, false, "node is not ready")
		return
	}
	if p.running && w.t >= p.endsAt {
		w.halt(p, 0)
	}
	w.setReady(p, false, "pod failed: Evicted")
}

// replacesEnded deletes a pod in a final phase, where the StatefulSet controller does that.
func (w *Model) replacesEnded(p *pod) bool {
	if p == nil || !p.ended || p.terminating() || p.running || w.KeepEnded {
		return false
	}
	w.remove(p)
	return true
}

// nodeState returns what Kubernetes says of the node of a pod.
func (w *Model) nodeState(p *pod) state.NodeState {
	switch {
	case !p.ended:
		return state.NodeUnknown
	case p.lost > w.t && w.t >= p.shown, p.unseen > w.t:
		return state.NodeNotReady
	}
	return state.NodeReady
}

// replaceEnded deletes a pod in a final phase, as package act does.
func (w *Model) replaceEnded(s step.ReplaceEnded) error {
	k := kindOf(s.Component)
	i, _ := w.index(s.Component, s.Member)
	p := w.pods[k][i]
	switch {
	case p == nil || p.uid != s.UID || p.terminating():
		return nil
	case !p.ended || w.reportedRunning(p):
		return errConflict
	case w.dataBeingDeleted(k, i):
		return errConflict
	case w.nodeState(p) != state.NodeReady && (!s.ByDatabase || w.inSight(k, i)):
		return errConflict
	}
	w.remove(p)
	return nil
}

// deleteEnded does what only a person may decide. A pod has ended whose claim is being deleted, so that the data never
// serves again, and goes with the pod.
func (w *Model) deleteEnded() {
	for k := range kinds {
		for i, p := range w.pods[k] {
			if c := w.claims[k][i]; p != nil && p.ended && c != nil && c.goneAt != never {
				w.note("user: delete pod %s, whose data is lost", w.names[k][i])
				w.halt(p, 0)
				w.remove(p)
			}
		}
	}
}

// judgeEnded checks that nothing runs in a pod that is deleted since it has ended, and that its data stays.
func (w *Model) judgeEnded(s step.ReplaceEnded, say sayer) {
	k := kindOf(s.Component)
	i, _ := w.index(s.Component, s.Member)
	p := w.pods[k][i]
	switch {
	case p == nil || p.uid != s.UID || p.terminating(): // it does nothing
	case p.running && p.lost <= w.t:
		say("ended", "the process of %s runs", s.Member)
	case w.dataBeingDeleted(k, i):
		say("data", "%s loses its data with its pod, and PD counts on it", s.Member)
	}
}
