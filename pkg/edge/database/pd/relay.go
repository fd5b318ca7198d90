package pd

import (
	"errors"
	"net/http"
	"slices"
	"strings"
)

// naming is the answer of a member that another member leads.
type naming struct {
	by     string // the URL of the member that answers
	leader *memberInfo
}

// relay returns a member that forwards requests to a leader of another part, which cannot be asked from here. Members
// of PD reach each other, whatever Kubernetes cluster they are in. The leader has to confirm through this member that it
// leads, because a member may name a leader that died seconds ago.
//
// A leader that is a member here is never asked through another member. Requests that a member forwards hang when the
// leader hangs, and only a leader that can be asked itself shows that.
func (s *search) relay() (member, *memberInfo, bool) {
	slices.SortFunc(s.named, func(a, b naming) int { return strings.Compare(a.by, b.by) })
	for _, n := range s.named {
		if !s.isElsewhere(n.leader) {
			continue
		}
		m := s.c.member(n.by)
		var leader memberInfo
		err := m.raw(s.ctx, request{method: http.MethodGet, path: pathLeader, out: &leader})
		if err == nil && leader.MemberID == n.leader.MemberID && leader.MemberID != 0 {
			s.c.remember(n.by)
			return m, &leader, true
		}
		if err != nil {
			s.errs = append(s.errs, err)
		}
	}
	return member{}, nil, false
}

// isElsewhere reports whether the addresses of a member say that another part has the member.
func (s *search) isElsewhere(m *memberInfo) bool {
	return slices.ContainsFunc(m.ClientURLs, func(url string) bool {
		var at interface{ Elsewhere() bool }
		return errors.As(s.silent[hostOf(url)], &at) && at.Elsewhere()
	})
}
