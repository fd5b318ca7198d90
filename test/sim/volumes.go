package sim

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"strconv"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Sizes are in Gi.
const (
	gi          = topology.Size(1 << 30)
	defaultSize = 10
)

var errNoRoom = errors.New("a pod is there that the StatefulSet would delete")

// VolumeOf returns the name of the volume that each member of a component has. Members without data have one for logs.
func VolumeOf(k topology.Kind) string { return cmp.Or(k.DataVolume(), string(k)+"-log") }

// withoutData returns the components whose members keep no data.
func withoutData() (all []kind) {
	for k := range kinds {
		if kind(k).data() == topology.None {
			all = append(all, kind(k))
		}
	}
	return all
}

// drawServerVolumes gives members without data a volume for logs, in one run of six. Users ask for other ones. That is
// drawn separately, so that the other runs stay as they are.
func drawServerVolumes(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 59))
	if o.ServerVolumes = rng.IntN(6) == 0; o.ServerVolumes {
		o.Faults.Replace = pick(rng, 1./300, 1./100)
	}
}

// Resize is the user changing the size of a component's volumes.
func (w *Model) Resize(k topology.Kind, size int) {
	w.note("user: volumes of %s of %s", k.Title(), topology.Size(size)*gi)
	w.Intent.Size[kindOf(k)] = size
}

// resizeSome is a user who asks for larger volumes, and sometimes for smaller ones again
// before they were resized. A StatefulSet with the larger size already would have refused
// that.
func (w *Model) resizeSome() {
	k := kind(w.rng.IntN(2))
	size := w.Intent.Size[k] + 1 + w.rng.IntN(3)
	if w.rng.IntN(3) == 0 {
		size = max(size-3, w.sets[k].spec.size, defaultSize)
	}
	w.Resize(kinds[k], size)
}

// classNamed is the name of a storage class, "" for the default class.
func classNamed(class int) string {
	if class == 0 {
		return ""
	}
	return "class-" + strconv.Itoa(class)
}

// otherVolumes is the user who asks for volumes of another storage class and perhaps of another size, and for the
// replacement of all members.
func (w *Model) otherVolumes() {
	k := kind(w.rng.IntN(2))
	if w.ServerVolumes && w.rng.IntN(2) == 0 {
		k = pick(w.rng, withoutData()...)
	}
	if w.Intent.Size[k] == 0 || w.Intent.Attributes[k] != "" { // beside a VolumeAttributesClass, a storage class has no effect
		return
	}
	w.Intent.Class[k]++
	w.Intent.Size[k] = max(w.Intent.Size[k]+w.rng.IntN(5)-2, 1)
	w.note("user: volumes of %s of class %d and %d Gi", kinds[k].Title(), w.Intent.Class[k], w.Intent.Size[k])
	for i := range w.Intent.members(k).each() {
		w.Replace(w.names[k][i], kinds[k].Data() == topology.Store)
	}
}

// volumes are what is wanted of a component's claims.
func (w *Model) volumes(k kind) []topology.Volume {
	if w.Intent.Size[k] == 0 {
		return nil
	}
	v := topology.Volume{Name: VolumeOf(kinds[k]), Size: topology.Size(w.Intent.Size[k]) * gi, Attributes: w.Intent.Attributes[k]}
	if v.Attributes == "" {
		v.Class = classNamed(w.Intent.Class[k])
	}
	return []topology.Volume{v}
}

// growVolumes is the storage: a volume grows a while after it was asked to, on
// the node of its pod.
func (w *Model) growVolumes(k kind) {
	for i, c := range w.claims[k] {
		if c != nil && c.capacity < c.requested && w.t >= c.growAt && w.pods[k][i] != nil && !c.lost {
			c.capacity = c.requested
		}
	}
}

func (w *Model) observeClaim(k kind, c *claim) state.Claim {
	out := state.Claim{
		Name: c.name, UID: c.uid, Version: strconv.Itoa(c.changes), Marked: c.marked, Terminating: c.goneAt != never,
		Template: VolumeOf(kinds[k]), Class: cmp.Or(classNamed(c.class), "standard"), Growth: state.Growable, Bound: true,
		Requested: topology.Size(c.requested) * gi, Capacity: topology.Size(c.capacity) * gi,
	}
	w.observeAttributes(c, &out)
	if c.capacity < c.requested {
		out.Resizing = "the node has to resize the filesystem"
	}
	return out
}

func (w *Model) resizeClaim(s step.ResizeClaim) error {
	k := kindOf(s.Component)
	i, _ := w.index(s.Component, s.Member)
	c := w.claims[k][i]
	if c == nil || c.uid != s.UID || c.marked || c.goneAt != never && !s.Going {
		return errConflict
	}
	if size := int(s.Size / gi); c.requested < size {
		c.requested, c.growAt = size, w.t+w.between(20, 600)
	}
	return nil
}

// recreate replaces a StatefulSet in two steps, between which a run can end.
func (w *Model) recreate(s step.RecreateSet) error {
	k := kindOf(s.Component)
	if !w.replaceable(k, s) {
		return errConflict
	}
	if s.OtherVolumes {
		if err := w.recordTemplate(k, s.Object); err != nil {
			return err
		}
	}
	spec, late := w.sets[k].spec, w.sets[k].late
	w.orphan(k)
	if w.endsHalfWay() {
		return errHalfWay
	}
	w.Pass(int(w.between(1, 5)))
	if w.chance(w.Faults.Kill) {
		w.kill()
		return errKilled
	}
	size := w.view.intent.Size[k]
	if spec.partition = spec.end(); size > spec.size || w.replacesAny(k) {
		spec.size, late = size, false
	}
	spec.class, spec.attributes = w.view.intent.Class[k], w.view.intent.Attributes[k]
	if s.OtherVolumes {
		spec.mounts, spec.template = w.view.intent.Mounts[k], groupOf(w.view.wanted, k).Template
	}
	err := w.make(k, spec)
	w.sets[k].late = w.sets[k].late || late // its claim templates keep the size that the late request has given them
	return err
}

// replaceable reports whether a StatefulSet is as it was when that was decided, has no unfinished work, and all claims
// have been asked to grow.
func (w *Model) replaceable(k kind, s step.RecreateSet) bool {
	old := &w.sets[k]
	if !old.exists || old.leaving || !w.is(k, s.Basis) || old.spec.replicas != s.Replicas || old.observed != old.generation {
		return false
	}
	if !s.OtherVolumes && !old.spec.manual && (old.current != old.update || old.spec.partition < old.spec.end()) {
		return false
	}
	for i := range old.spec.each() {
		if c := w.claims[k][i]; c != nil && c.goneAt == never && !c.marked && !w.claimReplaced(k, i) && max(c.requested, c.capacity) < w.view.intent.Size[k] {
			return false
		}
	}
	return true
}

// orphan deletes a StatefulSet without its pods. The next StatefulSet may delete the pods that the deleted one was to
// delete.
func (w *Model) orphan(k kind) {
	for i, p := range w.pods[k] {
		if p != nil && w.sets[k].exists {
			p.surplus = !w.sets[k].spec.has(i)
		}
	}
	w.sets[k] = set{generation: w.sets[k].generation + 1}
}

// make creates a StatefulSet. The controller knows of no revision before the first revision of the StatefulSet.
func (w *Model) make(k kind, spec setSpec) error {
	if w.sets[k].exists {
		return errors.New("the StatefulSet exists already")
	}
	for i, p := range w.pods[k] {
		if p != nil && !spec.has(i) && !p.terminating() && !p.surplus {
			return errNoRoom
		}
	}
	spec.template = w.admitted(&w.sets[k], spec.template)
	w.change(&w.sets[k], spec)
	w.sets[k].fresh, w.sets[k].late = true, w.nap.woke
	return nil
}

// stray checks that no pod is above the replicas of a StatefulSet that was not scaled since it was created.
// Otherwise the StatefulSet would have been created with too few replicas. The StatefulSet from before may have been about
// to delete the pod.
func (w *Model) stray(k kind, i int) {
	if w.sets[k].fresh && !w.pods[k][i].surplus {
		w.broke("strays", "a new StatefulSet of %s deletes %s", kinds[k].Title(), w.names[k][i])
	}
}

// otherClaims reports whether a user asks for other claims than a StatefulSet makes.
func otherClaims(in Intent, k kind, spec setSpec) bool {
	return in.Class[k] != spec.class || in.Attributes[k] != spec.attributes || in.Size[k] > spec.size
}

// judgeRecreate checks that a StatefulSet is recreated only for other claims, and not in the middle of a rollout. Replicas
// are kept, see stray, so that a scale-in which has not begun loses nothing.
func (w *Model) judgeRecreate(s step.RecreateSet, say sayer) {
	k := kindOf(s.Component)
	set := &w.sets[k]
	if w.seen.intent.Paused && w.Intent.Paused {
		say("recreate", "the cluster is paused")
	}
	other := otherClaims(w.seen.intent, k, set.spec) || otherClaims(w.Intent, k, set.spec)
	if !other && !s.OtherVolumes && !w.replacesAny(k) {
		say("recreate", "its claims are as wanted")
	}
	for i := range set.spec.each() {
		p := w.pods[k][i]
		if p != nil && !s.OtherVolumes && p.mounts == set.spec.mounts && !set.byHand() && p.revision != set.update && w.seen.revision[k][i] == p.revision {
			say("recreate", "%s has yet to be restarted", w.names[k][i])
		}
	}
}

// restOfVolumes checks that every volume has the wanted size, and that the StatefulSet
// gives new members volumes of that size. A StatefulSet with larger claims, which a late request has created, is not
// recreated with smaller claims.
func (w *Model) restOfVolumes(k kind) {
	want := w.Intent.Size[k]
	if have := w.sets[k].spec.size; have < want || have > want && !w.sets[k].late {
		w.broke("rest", "%s has claims of %d Gi for new members, not of %d", kinds[k].Title(), have, want)
	}
	if have := w.sets[k].spec.class; have != w.Intent.Class[k] && w.Intent.Attributes[k] == "" {
		w.broke("rest", "%s has claims of class %d for new members, not of %d", kinds[k].Title(), have, w.Intent.Class[k])
	}
	for i, c := range w.claims[k] {
		if c != nil && w.Intent.wants(k, i) && c.capacity < want {
			w.broke("rest", "%s has %d Gi, not %d", c.name, c.capacity, want)
		}
	}
}
