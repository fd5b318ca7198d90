package pd

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// TestEndsWithCaller: a call that ends because the caller's time is over ends when the caller's context has. A caller
// asks its context why the call has failed, and would else take that for an answer of PD.
func TestEndsWithCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{URLs: []string{"http://pd"}, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		defer c.Close()
		for range 100 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := c.Health(ctx); err == nil || ctx.Err() == nil {
				t.Fatalf("error %v, context %v", err, ctx.Err())
			}
			cancel()
		}
	})
}
