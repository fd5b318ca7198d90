package facts

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// MemberBefore returns the member that Kubernetes waits for before it creates a missing pod. With
// OrderedReady each pod comes after all pods with a lower ordinal are Ready. Until then it is not
// known which revision the pod would have.
func (c Component) MemberBefore(m state.Member) (state.Member, bool) {
	if !c.Got.Set.Ordered || m.Pod != nil {
		return state.Member{}, false
	}
	for _, o := range c.Got.InSet() {
		if o.Ordinal < m.Ordinal && (o.Pod == nil || !o.Pod.Ready || o.Pod.Terminating) {
			return o, true
		}
	}
	return state.Member{}, false
}

// WaitsFor reports whether Kubernetes creates no pod of a member before another one is Ready.
func (c Component) WaitsFor(m, other state.Member) bool {
	first, queued := c.MemberBefore(m)
	return queued && first.Ordinal == other.Ordinal
}

// HoldsUp reports whether Kubernetes creates the pod of another member only after this member is Ready. Only members
// that the database counts on are asked about. For example, two stores that leave may have regions that no other store
// has. These regions reach a third store only after one of the two stores runs.
func (c Component) HoldsUp(m state.Member) bool {
	return slices.ContainsFunc(c.Got.InSet(), func(o state.Member) bool {
		return c.WaitsFor(o, m) && o.CountedOn()
	})
}

// WouldHoldUp reports whether pods of the StatefulSet would wait for a member that is added to it. With OrderedReady these
// are the pods above the member, when Kubernetes has to make them again.
func (c Component) WouldHoldUp(m state.Member) bool {
	return c.Got.Set.Ordered && m.Ordinal < c.Got.Set.Ordinals().End()
}
