package pd

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// foreign is the error of an address that is no member's.
type foreign struct{ elsewhere bool }

func (foreign) Error() string     { return "not a member" }
func (foreign) Permanent() bool   { return true }
func (f foreign) Elsewhere() bool { return f.elsewhere }

// TestRelay: a leader of another part is asked through a member here, if the leader confirms through this member that it
// leads. A leader here that cannot be asked is never asked so.
func TestRelay(t *testing.T) {
	for name, tt := range map[string]struct {
		elsewhere bool
		forwards  string // the answer to a request that is forwarded
		want      error
	}{
		"confirms":      {true, `{"name": "far", "member_id": 9, "client_urls": ["http://far:2379"]}`, nil},
		"another leads": {true, `{"name": "new", "member_id": 8, "client_urls": ["http://new:2379"]}`, ErrLeaderUnreachable},
		"is here":       {false, `{"name": "far", "member_id": 9, "client_urls": ["http://far:2379"]}`, ErrLeaderUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("PD-Allow-Follower-Handle") == "" {
					_, _ = w.Write([]byte(tt.forwards))
					return
				}
				_, _ = w.Write([]byte(`{"name": "far", "member_id": 9, "client_urls": ["http://far:2379"]}`))
			}))
			defer s.Close()
			c := New(Config{URLs: []string{"http://here:2379"}, Budget: time.Second, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				if addr == "far:2379" {
					return nil, foreign{tt.elsewhere}
				}
				return new(net.Dialer).DialContext(ctx, network, s.Listener.Addr().String())
			}})
			defer c.Close()
			leader, err := c.Leader(t.Context())
			switch {
			case !errors.Is(err, tt.want):
				t.Errorf("%v, want %v", err, tt.want)
			case tt.want == nil && leader.Name != "far":
				t.Errorf("leader %s", leader.Name)
			}
		})
	}
}
