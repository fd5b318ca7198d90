package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

var (
	errInjected  = errors.New("injected: the step failed")
	errLost      = errors.New("injected: the answer was lost")
	errHalfWay   = errors.New("injected: the step failed half-way")
	errNotLoaded = errors.New("PD's leader has not loaded its schedulers yet")
	errConflict  = errors.New("the object has been modified")
)

// Do implements reconcile.Actor.
func (w *Model) Do(ctx context.Context, s step.Step) error {
	if w.dead {
		return errKilled
	}
	if w.lost {
		w.broke("lease", "%s: another driver has the lease", s)
	}
	if err := w.underway(ctx); err != nil {
		return err
	}
	for i := range w.watches {
		w.watches[i].step(w, s)
	}
	if w.chance(w.Faults.Fail) || w.broken.fails(s, w.t) {
		return errInjected
	}
	err := w.takesLate(s)
	w.judgeDDL()
	w.writes++
	w.cut = false // a step of one request has no half
	if err == nil {
		w.blame(s, w.verdict)
	}
	w.nap = nap{}
	w.tick()
	switch {
	case err != nil:
		return err
	case w.chance(w.Faults.LostAnswer):
		return errLost
	case w.chance(w.Faults.Kill):
		w.kill()
	}
	return nil
}

// underway is what may happen between the decision and the moment when the step
// arrives.
func (w *Model) underway(ctx context.Context) error {
	late := w.chance(w.Faults.Delay)
	switch {
	case late:
		w.pause(1 + w.rng.Int64N(45))
	case len(w.drivers) > 1 && w.chance(0.5):
		w.pause(0) // the other one takes a turn in between
	}
	if w.lease == nil {
		if ctx.Err() != nil && w.chance(0.5) {
			return ctx.Err() // else the request was on its way before
		}
		return nil
	}
	// A process that uses the Lease stops at once when the Lease ends. Only requests
	// that were sent by then arrive, within seconds.
	if ctx.Err() == nil && late {
		w.pause(w.rng.Int64N(4))
	} else if ctx.Err() != nil {
		return ctx.Err()
	}
	if w.dead {
		return errKilled
	}
	return w.request(w.driver)
}

// endsHalfWay reports whether a step ends between two of its requests: the first of them has arrived.
func (w *Model) endsHalfWay() bool {
	if w.cut {
		w.cut = false
		w.kill()
		return true
	}
	return w.chance(w.Faults.Fail)
}

func (w *Model) chance(p float64) bool { return w.chaos && w.rng.Float64() < p }

// Record implements reconcile.Recorder.
func (w *Model) Record(_ context.Context, seen state.Observation, _ desired.State, _ plan.Plan) error {
	switch id := seen.Snapshot.PD.ClusterID; {
	case w.dead:
		return errKilled
	case w.chance(w.Faults.Fail):
		return errInjected
	case id != 0:
		w.recorded = id
	}
	return nil
}

// take does a step as package act would. It fails without a change when the cluster is no longer as
// it was when the step was decided.
func (w *Model) take(next step.Step) error {
	switch s := next.(type) {
	case step.Apply:
		return w.apply(s)
	case step.Resize:
		return w.resize(s)
	case step.Restart:
		return w.restart(s)
	case step.Close:
		return w.closeRollout(s)
	case step.MoveLeader:
		return w.moveLeader(s.From, s.To)
	case step.RemoveMember:
		if m := w.pd.member(s.ID); s.Down && m != nil && w.serving() && (w.pinged(*m) || w.takesPart(*m)) {
			return errConflict
		}
		return w.removeMember(s.ID)
	case step.EvictLeaders:
		return w.evictLeaders(s)
	case step.HoldRegions:
		return w.holdRegions()
	case step.LimitLeaderMoves:
		return w.limitLeaderMoves(s)
	case step.AdoptEviction:
		return w.adoptEviction(s)
	case step.AllowLeaders:
		return w.allowLeaders(s)
	case step.RemoveStore:
		return w.removeStore(s)
	case step.RestoreStore:
		return w.restoreStore(s.StoreID)
	case step.ForgetRecord:
		return w.concludeRecord(s)
	}
	return w.takeOnVolumes(next)
}

func (w *Model) takeOnVolumes(next step.Step) error {
	switch s := next.(type) {
	case step.EndPause:
		return w.endPause()
	case step.BeginBatches:
		return w.beginBatches(s)
	case step.EndBatches:
		return w.endBatches(s)
	case step.ClosePump:
		return w.closePump(s)
	case step.AdoptDrain:
		return w.adoptDrain(s)
	case step.DrainCapture:
		return w.drainCapture(s)
	case step.ForgetDrain:
		w.forgetDrain(s.Member)
		return nil
	case step.SetPassword:
		return w.setPassword(s)
	case step.BeginDDLPause:
		return w.beginDDLPause(s)
	case step.EndDDLPause:
		return w.endDDLPause(s)
	case step.EnableRules:
		return w.enableRules()
	case step.ResizeClaim:
		return w.resizeClaim(s)
	case step.ModifyClaim:
		return w.modifyClaim(s)
	case step.RecreateSet:
		return w.recreate(s)
	}
	return w.sweep(next)
}

// sweep takes a step that marks or deletes what is left over.
func (w *Model) sweep(next step.Step) error {
	switch s := next.(type) {
	case step.MarkClaims:
		return w.mark(s.Component, s.Member, s.Claims, true)
	case step.UnmarkClaims:
		return w.unmark(s)
	case step.DeleteClaim:
		return w.deleteClaim(s)
	case step.ReplaceEnded:
		return w.replaceEnded(s)
	case step.DeletePod:
		return w.deletePodOf(s)
	case step.DeleteSet:
		return w.deleteSet(s)
	case step.RecordFailure:
		return w.recordFailure(s)
	case step.RetireFailure:
		return w.retireFailure(s)
	case step.ForgetFailure:
		return w.forgetFailure(s)
	}
	panic(fmt.Sprintf("sim: no such step: %T", next))
}

// is reports whether a StatefulSet is the one that a step was decided on.
func (w *Model) is(k kind, on step.Basis) bool {
	return w.sets[k].uid == on.UID && int64(w.sets[k].generation) == on.Generation
}

// moved reports whether the StatefulSet was written since the engine observed.
func (w *Model) moved(k kind) bool {
	return w.sets[k].generation != w.view.generations[k]
}

func (w *Model) apply(s step.Apply) error {
	if s.Component == "" {
		if w.advice != w.view.advice {
			return errConflict
		}
		w.advise(w.view.newAdvice)
		return nil
	}
	k, intent := kindOf(s.Component), w.view.intent
	set, template := &w.sets[k], groupOf(w.view.wanted, k).Template
	if err := w.recordTemplate(k, s.Object); err != nil {
		return err
	}
	switch s.Object.Kind {
	case "Service":
		w.services[k] = true
	case "ConfigMap":
		w.config[k] = template
	default:
		if s.Object.Drift == desired.Missing {
			first := members{s.Replicas, w.slotsAt(s.Slots)}
			if n := w.lostSlot(topology.Ordinals{Count: s.Replicas, Slots: s.Slots}); n >= 0 {
				w.broke("slots", "%s is created with ordinal %d, which nobody wants", kinds[k].Title(), n)
			}
			return w.make(k, setSpec{
				members: first, partition: first.end(), size: intent.Size[k], class: intent.Class[k], attributes: intent.Attributes[k], mounts: intent.Mounts[k],
				template: template, manual: intent.Manual[k],
			})
		}
		if w.moved(k) {
			return errConflict
		}
		spec := set.spec
		if len(s.Object.Edits) > 0 {
			template = set.applied()
		} else {
			w.judgeTemplate(k, template)
			if intent.Mounts[k] != spec.mounts {
				w.broke("mounts", "%s gets a template with other volumes than its StatefulSet has", kinds[k].Title())
			}
			spec.batches = spec.batches && !intent.Manual[k]
			spec.manual = spec.batches || intent.Manual[k]
		}
		if spec.template = w.admitted(set, template); !spec.batches {
			spec.partition = spec.end()
		}
		w.change(set, spec)
	}
	return nil
}

func (w *Model) resize(s step.Resize) error {
	k := kindOf(s.Component)
	set := &w.sets[k]
	from, to := w.resizes(s)
	if !set.spec.same(from) || !w.is(k, s.Basis) || !w.samePods(k, s) {
		return errConflict
	}
	spec := set.spec
	spec.members = to
	if set.spec.partition >= set.spec.end() {
		spec.partition = spec.end()
	}
	w.change(set, spec)
	return nil
}

// samePods reports whether the members that leave have the pods that they had when that was decided, or none.
func (w *Model) samePods(k kind, s step.Resize) bool {
	for _, leaving := range s.Leaving {
		n, _ := w.index(s.Component, leaving.Name)
		if p := w.pods[k][n]; p != nil && p.uid != leaving.UID {
			return false
		}
	}
	return true
}

func (w *Model) restart(s step.Restart) error {
	k := kindOf(s.Component)
	set, p := &w.sets[k], w.pods[k][w.numberOf(s.Ordinal)]
	if s.PodUID != "" && (p == nil || p.uid != s.PodUID) {
		return errConflict
	}
	if err := w.stillUnlisted(s); err != nil {
		return err
	}
	if err := w.stillEvicting(s); err != nil {
		return err
	}
	if err := w.sleep(s); err != nil {
		return err
	}
	// What follows is asked of the very object that is written.
	if !set.spec.manual && set.spec.partition != w.numberOf(s.From) || !w.is(k, s.Basis) {
		return errConflict
	}
	if err := w.spared(s, p); err != nil {
		return err
	}
	if s.Revision != "" {
		return w.restartNamed(s)
	}
	spec := set.spec
	spec.partition = w.numberOf(s.Ordinal)
	w.change(set, spec)
	if !s.Stuck {
		return nil
	}
	if w.endsHalfWay() {
		return errHalfWay
	}
	if w.serves(k, w.numberOf(s.Ordinal)) && w.chaos {
		w.Soft.HealedMeanwhile++
	}
	// A pod that is deleted before the controller knows the new partition comes
	// back as it was.
	for set.observed != set.generation && (!w.chaos || w.rng.IntN(2) == 0) {
		w.tick()
	}
	if w.pods[k][w.numberOf(s.Ordinal)] == p && !p.terminating() {
		w.remove(p)
	}
	return nil
}

func (w *Model) closeRollout(s step.Close) error {
	k := kindOf(s.Component)
	if !w.is(k, s.Basis) {
		return errConflict
	}
	spec := w.sets[k].spec
	spec.partition = w.numberOf(s.Partition)
	w.change(&w.sets[k], spec)
	return nil
}

func (w *Model) unmark(s step.UnmarkClaims) error {
	i, _ := w.index(s.Component, s.Member)
	if p := w.pods[kindOf(s.Component)][i]; s.PodUID != "" && (p == nil || p.uid != s.PodUID) {
		return errConflict
	}
	return w.mark(s.Component, s.Member, s.Claims, false)
}

func (w *Model) mark(component topology.Kind, member string, claims []step.Claim, marked bool) error {
	k := kindOf(component)
	i, _ := w.index(component, member)
	for _, want := range claims {
		switch c := w.claims[k][i]; {
		case c == nil:
		case c.uid != want.UID, strconv.Itoa(c.changes) != want.Version:
			return errConflict
		default:
			c.marked, c.markedLate = marked, marked && w.nap.woke
			c.changes++
		}
	}
	return nil
}

func (w *Model) deleteClaim(s step.DeleteClaim) error {
	k := kindOf(s.Component)
	i, _ := w.index(s.Component, s.Member)
	c := w.claims[k][i]
	if c == nil {
		return nil
	}
	p := w.pods[k][i]
	switch {
	case c.uid != s.UID:
		return errConflict
	case c.goneAt != never:
		return nil
	case !c.marked, s.PodUID == "" && w.sets[k].spec.has(i), s.PodUID != "" && (p == nil || p.uid != s.PodUID):
		return errConflict // as package act finds out
	}
	if err := w.notInPD(k, i, !s.Reclaim && s.PodUID == ""); err != nil {
		return err
	}
	c.goneAt = w.t + w.between(2, 20)
	return nil
}

// notInPD asks PD once more, as package act does before it deletes data. The member may have joined
// since the engine observed. none says whether PD may answer that it has no stores.
func (w *Model) notInPD(k kind, i int, none bool) error {
	switch {
	case k.data() == topology.Binlog && !w.known():
		return errNoPD
	case k.data() == topology.Binlog && w.unread(i):
		return errConflict
	case k.data() == topology.Raft && !w.known(), k.data() == topology.Store && !w.storesKnown() && !none:
		return errNoPD
	case k.data() == topology.Raft && w.pd.memberAt(i) != nil, k.data() == topology.Store && w.storesKnown() && w.storeOf(k, i) != nil:
		return errConflict
	}
	return nil
}

// deletePodOf deletes a pod of which PD counts on no member. A new pod with the same name is not
// deleted.
func (w *Model) deletePodOf(s step.DeletePod) error {
	k := kindOf(s.Component)
	i, _ := w.index(s.Component, s.Member)
	p := w.pods[k][i]
	if p == nil || p.uid != s.UID || p.terminating() {
		return nil
	}
	if err := w.notInPD(k, i, false); err != nil {
		return err
	}
	if s.Again && p.ready {
		return errConflict
	}
	w.remove(p)
	return nil
}
