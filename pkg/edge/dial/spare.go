package dial

import (
	"slices"
	"sync"
)

// spareSessions is how many sessions that nobody holds are kept. They are there for a connection that is opened soon
// after another one. A run that asks a hundred members, one after the other, needs none of these sessions again
// soon.
const spareSessions = 4

// spares are the sessions that nobody holds, the one that is unused for the longest time first.
type spares struct {
	mu  sync.Mutex
	all []*session
}

// add adds a session that nobody holds any more. Where there are too many, it closes the first one.
func (p *spares) add(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = slices.DeleteFunc(p.all, func(o *session) bool { return o == s || !o.isSpare() })
	p.all = append(p.all, s)
	for len(p.all) > spareSessions {
		p.all[0].closeUnused()
		p.all = slices.Delete(p.all, 0, 1)
	}
}

// isSpare reports whether the session is alive, and nobody holds it.
func (s *session) isSpare() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.users == 0 && s.alive()
}

// closeUnused closes the session unless somebody holds it.
func (s *session) closeUnused() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		s.unused.Stop() // a timer keeps all of the session until its time
		s.close()
	}
}
