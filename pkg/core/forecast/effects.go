package forecast

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// effect is what follows from a step, at once, and the phase that the step belongs to. What takes time
// happens later.
type effect struct {
	do    func(*world, step.Step)
	phase func(*world, step.Step) Phase
}

// effects has one row for each kind of step.
var effects = map[string]effect{
	"Apply":            row(apply, phaseOfApply),
	"Resize":           row(resize, phaseOfResize),
	"Restart":          row(restart, ofMember),
	"Close":            row(closeRollout, always(Rollout)),
	"BeginBatches":     row(beginBatches, always(Rollout)),
	"EndBatches":       row(endBatches, always(Rollout)),
	"MoveLeader":       row(moveLeader, ofMember),
	"MovePrimary":      row(movePrimary, ofMember),
	"RemoveMember":     row(removeMember, ofMember),
	"EvictLeaders":     row(evictLeaders, ofMember),
	"LimitLeaderMoves": row(limitLeaderMoves, always(Preparation)),
	"HoldRegions":      row(holdRegions, always(Preparation)),
	"AdoptEviction":    row(adoptEviction, always(Preparation)),
	"AllowLeaders":     row(allowLeaders, ofMember),
	"RemoveStore":      row(removeStore, ofMember),
	"RestoreStore":     row(restoreStore, always(ScaleOut)),
	"ForgetRecord":     row(forgetRecord, ofMember),
	"MarkClaims":       row(func(w *world, s step.MarkClaims) { w.mark(s.Component, s.Member, s.Claims, true) }, ofMember),
	"UnmarkClaims":     row(func(w *world, s step.UnmarkClaims) { w.mark(s.Component, s.Member, s.Claims, false) }, ofMember),
	"DeleteClaim":      row(deleteClaim, phaseOfClaim),
	"DeletePod":        row(func(w *world, s step.DeletePod) { w.stop(w.member(s.Component, s.Member)) }, always(Renewal)),
	"ReplaceEnded":     row(func(w *world, s step.ReplaceEnded) { w.stop(w.member(s.Component, s.Member)) }, always(Preparation)),
	"DeleteSet":        row(deleteSet, always(Suspension)),
	"RecordFailure":    row(recordFailure, always(Failover)),
	"RetireFailure":    row(retireFailure, always(Failover)),
	"ForgetFailure":    row(forgetFailure, always(Failover)),
	"ResizeClaim":      row(resizeClaim, always(Growth)),
	"ModifyClaim":      row(modifyClaim, always(Growth)),
	"RecreateSet":      row(recreateSet, always(Growth)),
	"ClosePump":        row(closePump, ofMember),
	"AdoptDrain":       row(adoptDrain, always(Preparation)),
	"DrainCapture":     row(drainCapture, ofMember),
	"ForgetDrain":      row(forgetDrain, ofMember),
	"EnableRules":      row(enableRules, always(Creation)),
	"SetPassword":      row(setPassword, always(Creation)),
	"BeginDDLPause":    row(beginDDLPause, always(Rollout)),
	"EndDDLPause":      row(endDDLPause, always(Rollout)),
	"EndPause":         row(endPause, always(Preparation)),
}

func row[S step.Step](do func(*world, S), phase func(*world, step.Step) Phase) effect {
	return effect{do: func(w *world, s step.Step) { do(w, s.(S)) }, phase: phase}
}

func always(p Phase) func(*world, step.Step) Phase {
	return func(*world, step.Step) Phase { return p }
}

// ofMember is the phase of what is done for a member: it leaves, or is replaced.
func ofMember(w *world, s step.Step) Phase {
	k, name := s.Target()
	g, m := w.group(k), w.member(k, name)
	_, failed := g.Failure(name)
	switch {
	case g.Suspend:
		return Suspension
	case !g.Has(m.Ordinal):
		return ScaleIn
	case failed:
		return Failover
	case m.Database.Removed() || terminating(m.Claims) || g.Replaces(*m):
		return Renewal
	}
	return Rollout
}

func phaseOfApply(w *world, next step.Step) Phase {
	s := next.(step.Apply)
	set := w.snap.Groups[s.Component].Set
	switch {
	case s.Component != "" && !set.Exists:
		return Creation
	case s.Component != "" && len(s.Object.Edits) == 0 && w.group(s.Component).Template != set.Template:
		return Rollout
	}
	return Preparation
}

func phaseOfResize(_ *world, next step.Step) Phase {
	if s := next.(step.Resize); s.To < s.From {
		return ScaleIn
	}
	return ScaleOut
}

func phaseOfClaim(_ *world, next step.Step) Phase {
	switch s := next.(step.DeleteClaim); {
	case s.Reclaim:
		return Cleanup
	case s.PodUID != "":
		return Renewal
	}
	return ScaleOut
}

func apply(w *world, s step.Apply) {
	if s.Component == "" {
		settled(w.want.Objects, s.Object)
		return
	}
	g := w.group(s.Component)
	settled(g.Services, s.Object)
	settled(g.Config, s.Object)
	if s.Object.Kind == g.Set.Kind && s.Object.Name == g.Set.Name {
		w.applySet(s, g)
	}
}

// settled notes that an object is as it is wanted.
func settled(objects []desired.Object, o desired.Object) {
	for i := range objects {
		if objects[i].Kind == o.Kind && objects[i].Name == o.Name {
			objects[i].Drift = desired.None
		}
	}
}

// applySet creates a StatefulSet, or changes its template. The forecast cannot know which revision
// Kubernetes gives the template. After a change that is taken back, pods may have that revision already.
// Then fewer pods are replaced than the forecast says.
func (w *world) applySet(s step.Apply, g *desired.Group) {
	if len(s.Object.Edits) > 0 {
		w.putBack(s.Component, g)
		return
	}
	w.set(s.Component, func(set *state.Set) {
		if !set.Exists {
			revision := w.uid()
			*set = state.Set{
				Exists: true, UID: w.uid(), Made: w.snap.At, Replicas: s.Replicas, Start: g.Start, Slots: s.Slots, Ordered: set.Ordered,
				UpdateRevision: revision, CurrentRevision: revision, Volumes: templates(g),
			}
		} else if set.Template != g.Template {
			set.UpdateRevision = w.uid()
		}
		set.Template, set.Manual, set.Observed = g.Template, g.Manual, true
		if set.InBatches = set.InBatches && !g.Manual; !set.InBatches {
			set.Partition = set.Ordinals().End()
		}
	})
	g.Set.Drift = desired.None
	w.extend(s.Component)
}

// putBack takes the pod template back to the one that was applied. That is the current revision, unless all
// pods have the changed one now.
func (w *world) putBack(k topology.Kind, g *desired.Group) {
	w.set(k, func(set *state.Set) {
		if set.CurrentRevision == set.UpdateRevision {
			set.UpdateRevision = w.uid()
		} else {
			set.UpdateRevision = set.CurrentRevision
		}
		set.Partition, set.Observed = set.Ordinals().End(), true
	})
	g.PutBack = desired.Object{}
}

// templates returns the claim templates of a component.
func templates(g *desired.Group) map[string]state.ClaimTemplate {
	all := map[string]state.ClaimTemplate{}
	for _, v := range g.Volumes {
		all[v.Name] = state.ClaimTemplate{Size: v.Size, Class: v.Class, Attributes: v.Attributes}
	}
	return all
}

// extend adds the members that a StatefulSet has now.
func (w *world) extend(k topology.Kind) {
	g := w.snap.Groups[k]
	for _, n := range g.Set.Ordinals().All() {
		if _, is := g.At(n); is {
			continue
		}
		m := state.Member{Kind: k, Ordinal: n, Name: w.want.Cluster.PodName(k, n)}
		if w.snap.PD.Known() && k.Data() != topology.None {
			m.Database.Presence = state.Absent
		}
		g.Members = append(g.Members, m)
	}
	slices.SortFunc(g.Members, func(a, b state.Member) int { return a.Ordinal - b.Ordinal })
	w.snap.Groups[k] = g
}

func resize(w *world, s step.Resize) {
	w.set(s.Component, func(set *state.Set) {
		closed := set.Closed()
		set.Replicas, set.Slots = s.To, s.SlotsTo
		if closed {
			set.Partition = set.Ordinals().End()
		}
	})
	w.extend(s.Component)
}

func restart(w *world, s step.Restart) {
	if s.Revision == "" {
		w.set(s.Component, func(set *state.Set) { set.Partition = s.Ordinal })
	}
	if s.Stuck || s.Revision != "" {
		w.stop(w.member(s.Component, s.Member))
	}
}

func closeRollout(w *world, s step.Close) {
	w.set(s.Component, func(set *state.Set) { set.Partition = s.Partition })
}

func beginBatches(w *world, s step.BeginBatches) {
	w.set(s.Component, func(set *state.Set) { set.InBatches, set.Partition = true, set.Start })
}

func endBatches(w *world, s step.EndBatches) {
	w.set(s.Component, func(set *state.Set) { set.InBatches = false })
}

func deleteSet(w *world, s step.DeleteSet) {
	w.set(s.Component, func(set *state.Set) { set.Terminating = true })
}

func recreateSet(w *world, s step.RecreateSet) {
	w.set(s.Component, func(set *state.Set) {
		set.UID, set.Made, set.Volumes = w.uid(), w.snap.At, templates(w.group(s.Component))
		if g := w.group(s.Component); s.OtherVolumes {
			set.UpdateRevision, set.Template, set.Partition = w.uid(), g.Template, set.Ordinals().End()
			g.OtherVolumes, g.Set.Drift = false, desired.None
		}
		set.CurrentRevision = set.UpdateRevision
	})
}

func endPause(w *world, _ step.EndPause) {
	w.want.Cluster.Paused, w.want.Cluster.Pause = false, topology.Pause{}
}

func beginDDLPause(w *world, s step.BeginDDLPause) {
	w.want.Cluster.DDLPause = topology.DDLPause{Recorded: true, Since: w.snap.At, From: s.From, To: s.To}
}

func endDDLPause(w *world, _ step.EndDDLPause) { w.want.Cluster.DDLPause = topology.DDLPause{} }

func setPassword(w *world, s step.SetPassword) { w.group(s.Component).FirstPassword = false }

func recordFailure(w *world, s step.RecordFailure) {
	g := w.group(s.Component)
	g.Failures = slices.DeleteFunc(g.Failures, func(f topology.Failure) bool { return f.Member == s.Member })
	g.Failures = append(g.Failures, topology.Failure{
		Member: s.Member, ID: s.ID, Claims: s.Claims, Created: w.snap.At, Discarded: s.Discarded,
	})
}

func retireFailure(w *world, s step.RetireFailure) {
	for i := range w.group(s.Component).Failures {
		if f := &w.group(s.Component).Failures[i]; f.Member == s.Member {
			f.Deleted = true
		}
	}
}

func forgetFailure(w *world, s step.ForgetFailure) {
	g := w.group(s.Component)
	g.Failures = slices.DeleteFunc(g.Failures, func(f topology.Failure) bool { return f.Member == s.Member })
}
