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
		made := func() *session { return newSession("1", upgraded{conn: &closable{closed: make(chan bool)}}) }
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
