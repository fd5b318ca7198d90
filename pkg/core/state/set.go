package state

import (
	"slices"
	"time"

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
	// when it is not below Replicas.
	Partition int
	// Manual is true if the live update strategy leaves restarts to the user
	// (OnDelete).
	Manual bool
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
	// Start is spec.ordinals.start: the ordinal of its first pod. The plugin sets none, so that it is 0.
	Start int
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
	// Volumes are the sizes in its claim templates, by their names.
	Volumes map[string]topology.Size
}

// Extent returns the highest ordinal of a pod that is not being deleted, plus one.
// A new StatefulSet with fewer replicas would delete pods.
func (g Group) Extent() int {
	n := 0
	for _, m := range g.Members {
		if m.Pod != nil && !m.Pod.Terminating {
			n = max(n, m.Ordinal+1)
		}
	}
	return n
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

// BelowReplicas returns the members below the replicas of the StatefulSet.
func (g Group) BelowReplicas() []Member {
	return g.Members[:min(g.Set.Replicas, len(g.Members))]
}

// Up returns how many of these members serve.
func (g Group) Up() int {
	n := 0
	for _, m := range g.BelowReplicas() {
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
	for _, m := range g.BelowReplicas() {
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
