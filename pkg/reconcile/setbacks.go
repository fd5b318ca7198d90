package reconcile

import (
	"errors"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// Setbacks remembers the components whose last step failed. No decision about what
// is safe depends on it, only which of several components comes next.
type Setbacks struct{ failed []topology.Kind }

// note notes how a step of a component ended. A step that came too late says
// nothing of the next one.
func (s *Setbacks) note(k topology.Kind, err error) {
	var outdated Outdated
	if s == nil || errors.As(err, &outdated) && outdated.Stale() {
		return
	}
	s.failed = slices.DeleteFunc(s.failed, func(o topology.Kind) bool { return o == k })
	if err != nil {
		s.failed = append(s.failed, k)
	}
}

// components are those whose last step failed, the one that failed longest ago
// first.
func (s *Setbacks) components() []topology.Kind {
	if s == nil {
		return nil
	}
	return slices.Clone(s.failed)
}
