package observe

import (
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

const (
	// few is up to how many TiDB servers are all asked in each observation. With a hundred, a run that waits would
	// keep a hundred connections for hours, or open as many in each turn.
	few = 8
	// servesFor is how long the good answer of a server counts.
	servesFor = 10 * time.Minute
)

// serving are the TiDB servers that have answered that they serve, by name. What they said counts in later observations
// for a while, as long as their pods are the same and Ready. Nothing disruptive is decided by it, and no run ends by
// it: both follow a live observation, in which all servers are asked.
type serving map[string]answeredWell

// answeredWell is when a server said that it serves, and what its pod was then.
type answeredWell struct {
	at             time.Time
	pod            string // its UID
	started, ready int64  // since when
}

func wellAt(now time.Time, p *state.Pod) answeredWell {
	return answeredWell{now, p.UID, p.Started.UnixNano(), p.Since.UnixNano()}
}

// counts reports whether the answer still says something about the server.
func (s serving) counts(m *state.Member, now time.Time) bool {
	said, ok := s[m.Name]
	return ok && runs(m) && m.Pod.Ready && !m.Pod.Terminating && now.Sub(said.at) < servesFor && said == wellAt(said.at, m.Pod)
}

// remembered gives members the answers that still count, and reports which members it has given one.
func (s serving) remembered(members []state.Member, now time.Time) map[string]bool {
	given := map[string]bool{}
	for i := range members {
		if m := &members[i]; s.counts(m, now) {
			m.Database.Presence, m.Database.Answer, m.Database.Healthy = state.Present, state.Answered, true
			given[m.Name] = true
		}
	}
	return given
}

// note replaces what was remembered by what has just been asked. given are the members that were not asked.
func (s serving) note(members []state.Member, given map[string]bool, now time.Time) serving {
	next := make(serving, len(members))
	for _, m := range members {
		switch {
		case given[m.Name]:
			next[m.Name] = s[m.Name]
		case m.Database.Healthy && runs(&m):
			next[m.Name] = wellAt(now, m.Pod)
		}
	}
	return next
}
