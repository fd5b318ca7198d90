package sim

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// A tier that drives the model from outside sees writes and no steps. The rules judge what a write lets happen. A pod
// that the StatefulSet controller may replace from now on is a restart, whichever step the write belongs to.

// Look is the moment when a process begins to observe the cluster live. See "What is asserted" in the documentation of
// the package.
func (w *Model) Look() {
	w.seen = w.sight()
	w.seen.live = true
}

// Judging says whether the writes that follow are those of the plugin, which the rules judge. Otherwise they are those
// of somebody else.
func (w *Model) Judging(on bool) { w.judging = on }

// judgeWrite judges a step as which a write counts, if it is one of the plugin.
func (w *Model) judgeWrite(s step.Step) {
	if w.judging {
		w.blame(s, w.judge(s))
	}
}

// judgeSetWritten judges a write of a StatefulSet before its controller sees the write.
func (w *Model) judgeSetWritten(component topology.Kind, written WrittenSet) {
	k := kindOf(component)
	set := w.sets[k]
	if !w.judging || !set.exists || set.uid != written.UID {
		return
	}
	next := w.written(written)
	if next != set.spec.members {
		w.judgeWrite(step.Resize{
			Component: component, From: set.spec.replicas, To: next.replicas, SlotsFrom: set.spec.slots.list(), SlotsTo: next.slots.list(),
		})
	}
	for i := range set.spec.each() {
		if !next.has(i) {
			continue
		}
		p := w.pods[k][i]
		old := set.spec.template == written.Template && !set.spec.manual && i >= set.spec.partition
		if p == nil || old || written.Manual || i < written.Partition || p.revision == written.Template {
			continue
		}
		w.judgeWrite(step.Restart{Component: component, Member: w.names[k][i], Ordinal: i, From: set.spec.partition})
	}
}

// judgePodDeleted judges the deletion of the pod with a UID. Where the partition has allowed the restart of the pod,
// the deletion is the second half of that restart, because the StatefulSet controller may delete the pod too. That
// holds for a pod that has ended as well.
func (w *Model) judgePodDeleted(uid string) {
	for k, name := range kinds {
		for i, p := range w.pods[k] {
			set := &w.sets[k]
			allowed := p != nil && !set.spec.manual && i >= set.spec.partition && p.revision != set.spec.template
			switch {
			case p == nil || p.uid != uid || p.terminating():
			case p.ended && !allowed:
				w.judgeWrite(step.ReplaceEnded{Component: name, Member: w.names[k][i], UID: uid})
			case w.going(kind(k), i) && name.Data() != topology.None:
				w.judgeWrite(step.DeletePod{Component: name, Member: w.names[k][i], UID: uid})
			default:
				if allowed {
					w.seen.acted = false
				}
				w.judgeWrite(step.Restart{Component: name, Member: w.names[k][i], Ordinal: i, PodUID: uid, From: set.spec.partition})
			}
		}
	}
}

// judgeClaimDeleted judges the deletion of the claim with a UID.
func (w *Model) judgeClaimDeleted(uid string) {
	for k, name := range kinds {
		for i, c := range w.claims[k] {
			if c != nil && c.uid == uid {
				s := step.DeleteClaim{Component: name, Member: w.names[k][i], Name: c.name, UID: uid}
				if p := w.pods[k][i]; p != nil {
					s.PodUID = p.uid
				}
				w.judgeWrite(s)
			}
		}
	}
}

// removesMember removes a member of PD by a function, and judges that if PD has not refused it.
func (w *Model) removesMember(id uint64, remove func() error) error {
	m := w.pd.member(id)
	if !w.judging || m == nil || m.ordinal < 0 {
		return remove()
	}
	return w.ifTaken(step.RemoveMember{Member: w.names[pd][m.ordinal], ID: id}, remove)
}

// removesStore takes a store offline by a function, and judges that if PD has not refused it.
func (w *Model) removesStore(s *store, remove func() error) error {
	if !w.judging || s.ordinal < 0 {
		return remove()
	}
	return w.ifTaken(step.RemoveStore{Component: kinds[s.k], Member: w.names[s.k][s.ordinal], StoreID: s.id}, remove)
}

// ifTaken judges a step and has a function take the step. It reports the rules as broken only where that function
// succeeds.
func (w *Model) ifTaken(s step.Step, take func() error) error {
	acted := w.seen.acted
	found := w.judge(s)
	err := take()
	if err == nil {
		w.blame(s, found)
	} else {
		w.seen.acted = acted // PD has changed nothing, and the client may ask again
	}
	return err
}

// AskDeletion is the user who wants the cluster no more.
func (w *Model) AskDeletion() { w.unwanted = true }

// judgeSetDeleted judges the deletion of a StatefulSet with its pods.
func (w *Model) judgeSetDeleted(component topology.Kind) {
	if w.unwanted {
		return
	}
	w.judgeWrite(step.DeleteSet{Component: component, Name: w.cluster.SetName(component)})
}

// Unfit returns the wanted members that do not serve.
func (w *Model) Unfit() []string {
	var all []string
	for _, k := range w.in() {
		for i := range w.Intent.members(k).each() {
			if !w.serves(k, i) {
				all = append(all, w.names[k][i])
			}
		}
	}
	return all
}
