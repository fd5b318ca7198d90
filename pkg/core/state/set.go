package state

import (
	"iter"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Set is a component's StatefulSet.
type Set struct {
	Exists bool
	UID    string
	// Generation is the number of the spec: each change of the spec gives another number.
	Generation int64
	// Made is when the StatefulSet was created. No pod can have been missing for
	// longer.
	Made time.Time
	// Terminating is true if the deletion was requested; the StatefulSet is deleted after its pods.
	Terminating bool
	Replicas    int // spec.replicas
	// Partition holds back updates of pods with a lower ordinal. It is closed
	// when it is above all ordinals.
	Partition int
	// Manual is true if the live update strategy leaves restarts to the user
	// (OnDelete).
	Manual bool
	// InBatches is true if the live update strategy is OnDelete because a run of ours restarts members of one failure
	// domain together. An annotation says so, which is written together with the strategy.
	InBatches bool
	// Ordered is true if pods are created and deleted one by one (OrderedReady). No pod is created before all
	// pods with a lower ordinal are Ready. A pod that is stuck is then not replaced.
	Ordered bool
	// Observed is true if the StatefulSet controller has seen the newest spec. The revisions below are then those
	// of this spec.
	Observed bool
	// UpdateRevision is the revision of a pod that is recreated with an ordinal not
	// below Partition.
	UpdateRevision  string
	CurrentRevision string
	// Start is spec.ordinals.start, the ordinal of the first pod. The plugin does not change the field.
	Start int
	// Slots are ordinals without a pod, the lowest first.
	Slots []int
	// Other names a StatefulSet of the same name in another API group, "" for none. Its controller may make or delete
	// the same pods.
	Other string
	// DeletesWhenScaled and DeletesWhenDeleted are true where Kubernetes deletes the claims of pods that go, as
	// spec.persistentVolumeClaimRetentionPolicy says. The plugin sets neither.
	DeletesWhenScaled, DeletesWhenDeleted bool
	// Template is the fingerprint of the pod template applied last; see
	// desired.Group.Template.
	Template string
	// Writer is the field manager that has written the StatefulSet last, apart from the status, and Written is when.
	// Writer is "" where the API server has not recorded it.
	Writer  string
	Written time.Time
	// Volumes are its claim templates, by their names.
	Volumes map[string]ClaimTemplate
}

// Staying returns the members with a pod that is not being deleted.
func (g Group) Staying() []Member {
	return slices.DeleteFunc(slices.Clone(g.Members), func(m Member) bool { return m.Pod == nil || m.Pod.Terminating })
}

// Member returns a member by its pod's name.
func (g Group) Member(name string) (Member, bool) {
	for _, m := range g.Members {
		if m.Name == name {
			return m, true
		}
	}
	return Member{}, false
}

// OrdinalsOf returns the ordinals of the pods that Kubernetes makes for a live StatefulSet.
func OrdinalsOf(set *appsv1.StatefulSet) topology.Ordinals {
	o := topology.Ordinals{Count: 1} // the default of the API server
	if set.Spec.Replicas != nil {
		o.Count = int(*set.Spec.Replicas)
	}
	if set.Spec.Ordinals != nil {
		o.Start = int(set.Spec.Ordinals.Start)
	}
	if IsAdvanced(set.APIVersion) {
		o.Slots, _ = topology.ParseSlots(set.Annotations[topology.AnnotationSlots]) // its controller ignores what cannot be read
	}
	return o
}

// IsAdvanced reports whether an object of an API version is an AdvancedStatefulSet, if its kind is StatefulSet.
func IsAdvanced(apiVersion string) bool {
	return strings.HasPrefix(apiVersion, topology.AdvancedGroup+"/")
}

// Ordinals returns the ordinals of the pods that Kubernetes makes for the StatefulSet.
func (s Set) Ordinals() topology.Ordinals {
	return topology.Ordinals{Start: s.Start, Count: s.Replicas, Slots: s.Slots}
}

// Has reports whether Kubernetes makes a pod of an ordinal for the StatefulSet.
func (s Set) Has(ordinal int) bool { return s.Ordinals().Has(ordinal) }

// OnDelete reports whether the update strategy is OnDelete, set by a person or by a run of ours. Kubernetes then
// replaces a pod of an old revision only after somebody has deleted the pod.
func (s Set) OnDelete() bool { return s.Manual || s.InBatches }

// Closed reports whether the partition holds back the updates of all pods.
func (s Set) Closed() bool { return s.Partition >= s.Ordinals().End() }

// InSet returns the members whose pods Kubernetes makes for the StatefulSet.
func (g Group) InSet() []Member { return g.divided(true) }

// EachInSet goes through the members of InSet, from the lowest ordinal up. It makes no copy of them all, which counts
// where a question is asked about each of hundreds of stores.
func (g Group) EachInSet() iter.Seq[Member] {
	ordinals := g.Set.Ordinals()
	return func(yield func(Member) bool) {
		for i := range g.Members {
			if ordinals.Has(g.Members[i].Ordinal) && !yield(g.Members[i]) {
				return
			}
		}
	}
}

// OutsideSet returns the members whose pods Kubernetes does not make for the StatefulSet: it deletes pods that they
// have.
func (g Group) OutsideSet() []Member { return g.divided(false) }

func (g Group) divided(inSet bool) []Member {
	ordinals := g.Set.Ordinals()
	var members []Member
	if inSet {
		members = make([]Member, 0, len(g.Members))
	}
	for _, m := range g.Members {
		if ordinals.Has(m.Ordinal) == inSet {
			members = append(members, m)
		}
	}
	return members
}

// At returns the member of an ordinal.
func (g Group) At(ordinal int) (Member, bool) {
	for _, m := range g.Members {
		if m.Ordinal == ordinal {
			return m, true
		}
	}
	return Member{}, false
}

// Has reports whether a member is one of some members of its component.
func Has(members []Member, m Member) bool {
	return slices.ContainsFunc(members, func(o Member) bool { return o.Ordinal == m.Ordinal })
}

// Up returns how many of these members serve.
func (g Group) Up() int {
	n := 0
	for _, m := range g.InSet() {
		if m.Up() {
			n++
		}
	}
	return n
}

// HasPods reports whether the component has pods, which a StatefulSet that is made takes over.
func (g Group) HasPods() bool {
	return slices.ContainsFunc(g.Members, func(m Member) bool { return m.Pod != nil })
}

// IsGone reports whether nothing of the component runs, or will by itself.
func (g Group) IsGone() bool { return !g.Set.Exists && !g.HasPods() }

// Unknown returns the number of running members that may serve, and could not be asked.
func (g Group) Unknown() int {
	n := 0
	for _, m := range g.InSet() {
		if m.Unknown() {
			n++
		}
	}
	return n
}

// Outdated reports whether a member's pod has not the revision that the user wants.
// A missing pod counts as the one that Kubernetes would create: below the partition
// that is an old one, which may fail to start.
func (g Group) Outdated(m Member) bool {
	if m.Pod == nil {
		return g.Set.Next(m.Ordinal) != g.Set.UpdateRevision
	}
	return m.Pod.Revision != g.Set.UpdateRevision
}

// Next returns the revision of a pod that Kubernetes would create now.
func (s Set) Next(ordinal int) string {
	if ordinal < s.Partition && !s.Completed() {
		return s.CurrentRevision
	}
	return s.UpdateRevision
}

// Completed reports whether Kubernetes has noted in the status that every pod has
// the update revision. Until then it creates pods below the partition with the old
// one. It never notes this for a Manual set, whose new pods have the update
// revision in any case.
func (s Set) Completed() bool {
	return s.Manual || s.CurrentRevision == s.UpdateRevision
}

// ClaimTemplate is from what Kubernetes makes the claims of new members.
type ClaimTemplate struct {
	Size  topology.Size
	Class string // "" for the default class
	// Attributes is the VolumeAttributesClass, "" for none.
	Attributes string
}
