package clock

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// server dates its answers, however long they take on the way.
type server struct {
	local, ahead, takes time.Duration
	status              int
	undated             bool
}

func (s *server) now() time.Time { return noon.Add(s.local) }

func (s *server) RoundTrip(*http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.local += s.takes
	if !s.undated {
		w.Header().Set("Date", s.now().Add(s.ahead).Format(http.TimeFormat))
	}
	w.WriteHeader(s.status)
	return w.Result(), nil
}

// A wrong clock is corrected by an answer, and one that may be right is not changed: it has seen
// fractions of a second that the answer has not.
func TestClock(t *testing.T) {
	for name, tc := range map[string]struct {
		server server
		ahead  time.Duration // of the local clock, afterwards
		off    time.Duration // by how much it may be wrong
	}{
		"right":              {server: server{local: 300 * time.Millisecond, status: 200}},
		"a moment too slow":  {server: server{status: 200, ahead: 500 * time.Millisecond}},
		"an hour slow":       {server: server{status: 200, ahead: time.Hour}, ahead: time.Hour, off: time.Second},
		"an hour fast":       {server: server{status: 200, ahead: -time.Hour}, ahead: -time.Hour, off: time.Second},
		"a slow answer":      {server: server{status: 200, takes: 8 * time.Second}},
		"slow, and fast too": {server: server{status: 200, takes: 8 * time.Second, ahead: -time.Hour}, ahead: -time.Hour, off: 9 * time.Second},
		"a conflict":         {server: server{status: 409, ahead: time.Hour}, ahead: time.Hour, off: time.Second},
		"from a proxy":       {server: server{status: 503, ahead: time.Hour}},
		"undated":            {server: server{status: 200, ahead: time.Hour, undated: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &tc.server
			c := New(s.now)
			if got := c.Now(); !got.Equal(s.now()) {
				t.Errorf("before any answer it is %s", got)
			}
			s.local += 90 * time.Second
			for range 3 {
				if _, err := c.Listen(s).RoundTrip(nil); err != nil { //nolint:bodyclose // it has none
					t.Fatal(err)
				}
			}
			s.local += time.Minute
			if wrong := c.Now().Sub(s.now().Add(tc.ahead)).Abs(); wrong > tc.off {
				t.Errorf("it is %s, wrong by %s", c.Now(), wrong)
			}
		})
	}
}
