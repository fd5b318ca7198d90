package dial

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// TestSilent: a member that accepts a connection and does not answer gives the same error each time, when the limit is
// over.
func TestSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Client(func(ctx context.Context, _, _ string) (net.Conn, error) {
			client, server := net.Pipe()
			go func() {
				for b := make([]byte, 1000); ; {
					if _, err := server.Read(b); err != nil {
						_ = server.Close()
						return
					}
				}
			}()
			return client, nil
		}, nil, time.Second)
		seen, begun := map[string]int{}, time.Now()
		for range 200 {
			resp, err := c.Get("http://member")
			if err == nil {
				_ = resp.Body.Close()
				t.Fatal("an answer")
			}
			seen[err.Error()]++
		}
		if took := time.Since(begun); took != 200*time.Second {
			t.Errorf("200 requests took %s", took)
		}
		if len(seen) != 1 {
			t.Errorf("%d errors: %v", len(seen), seen)
		}
	})
}

// TestHalfAnswered: the limit ends an answer that does not.
func TestHalfAnswered(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(out).Flush()
		<-r.Context().Done()
	}))
	defer s.Close()
	resp, err := Client((&net.Dialer{}).DialContext, nil, 100*time.Millisecond).Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
