package dial

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/streaming/pkg/httpstream"
)

// closable is a connection that can only be closed.
type closable struct {
	httpstream.Connection
	closed chan bool
}

func (c *closable) CloseChan() <-chan bool { return c.closed }

func (c *closable) Close() error {
	close(c.closed)
	return nil
}

// TestUnusedSessionsEnd: a session ends when nobody has held it for a while, also one that was never used.
func TestUnusedSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		check := func(after string, s *session, alive bool) {
			t.Helper()
			synctest.Wait()
			if s.alive() != alive {
				t.Errorf("%s: alive %t, want %t", after, !alive, alive)
			}
		}
		made := func() *session {
			return newSession("1", upgraded{conn: &closable{closed: make(chan bool)}}, func(*session) {})
		}
		never := made()
		s := made()
		first, second := s.hold(), s.hold()
		time.Sleep(Idle)
		check("no use", never, false)
		check("two uses", s, true)
		first()
		first() // once more changes nothing
		time.Sleep(Idle)
		check("one use of two is over", s, true)
		second()
		time.Sleep(Idle - time.Second)
		third := s.hold()
		time.Sleep(Idle)
		check("another use in time", s, true)
		third()
		time.Sleep(Idle)
		check("the last use is over", s, false)
	})
}

// TestFewSpareSessions: of sessions that nobody holds only the last ones are kept, and none that is held is closed.
func TestFewSpareSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p spares
		all := make([]*session, 3*spareSessions)
		for i := range all {
			all[i] = newSession("1", upgraded{conn: &closable{closed: make(chan bool)}}, p.add)
		}
		held := all[0]
		held.hold()() // it is a spare one, and then used again
		defer held.hold()()
		for _, s := range all[1:] {
			s.hold()()
		}
		synctest.Wait()
		for i, s := range all {
			if want := s == held || i >= len(all)-spareSessions; s.alive() != want {
				t.Errorf("session %d: alive %t, want %t", i, !want, want)
			}
		}
		time.Sleep(Idle)
		synctest.Wait()
		for i, s := range all[1:] {
			if s.alive() {
				t.Errorf("session %d is kept though nobody uses it", i+1)
			}
		}
	})
}
