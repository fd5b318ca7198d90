package state

import (
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// Set is a component's StatefulSet.
type Set struct {
	Exists bool
	UID    string
	// Made is when the StatefulSet was created. No member is down for longer than
	// that for want of a pod.
	Made time.Time
	// Terminating: it was deleted and goes when its pods have gone.
	Terminating bool
	Replicas    int // spec.replicas
	// Partition holds back updates of pods with a lower ordinal. It is closed
	// when it is not below Replicas.
	Partition int
	// Manual: the live update strategy leaves restarts to the user (OnDelete).
	Manual bool
	// Ordered: pods are made and deleted one by one (OrderedReady), none before
	// all with a lower ordinal are Ready, and one that is stuck is not replaced.
	Ordered bool
	// Observed: the StatefulSet controller has seen the newest spec, so the
	// revisions below speak of it.
	Observed bool
	// UpdateRevision is what a pod gets that is restarted with an ordinal not
	// below Partition.
	UpdateRevision  string
	CurrentRevision string
	// Template is the fingerprint of the pod template applied last; see
	// plan.Group.Template.
	Template string
	// Volumes are the sizes in its claim templates, by their names.
	Volumes map[string]topology.Size
}

// Extent is one more than the highest ordinal that has a pod which is not about
// to go: the least number of replicas with which a StatefulSet that is made
// takes nothing away.
func (g Group) Extent() int {
	n := 0
	for _, m := range g.Members {
		if m.Pod != nil && !m.Pod.Terminating {
			n = max(n, m.Ordinal+1)
		}
	}
	return n
}

// Member finds a member by its pod's name.
func (g Group) Member(name string) (Member, bool) {
	for _, m := range g.Members {
		if m.Name == name {
			return m, true
		}
	}
	return Member{}, false
}

// Running are the members that the StatefulSet is asked for.
func (g Group) Running() []Member {
	return g.Members[:min(g.Set.Replicas, len(g.Members))]
}

// Up counts running members that serve.
func (g Group) Up() int {
	n := 0
	for _, m := range g.Running() {
		if m.Up() {
			n++
		}
	}
	return n
}

// Outdated tells whether a member's pod is not of the revision that the user
// wants. A pod that is missing counts as the one that Kubernetes would make:
// below the partition that is an old one, which it may not be able to make.
func (g Group) Outdated(m Member) bool {
	if m.Pod == nil {
		return m.Ordinal < g.Set.Partition && !g.Set.Completed()
	}
	return m.Pod.Revision != g.Set.UpdateRevision
}

// Completed: Kubernetes has taken note that every pod has the update revision.
// Until then it makes pods below the partition of the old one. It never does
// for a Manual set, whose new pods are of the update revision in any case.
func (s Set) Completed() bool {
	return s.Manual || s.CurrentRevision == s.UpdateRevision
}
