package lease

import (
	"context"
	"net/http"
)

// heldKey is the key of the lease in the contexts of the work that needs it.
type heldKey struct{}

// Lasts fails if the lease that ctx belongs to may have another holder now. It asks the clock, so that
// it knows also in a process that has just been stopped for hours. It does not fail for a context without
// a lease.
func Lasts(ctx context.Context) error {
	h, ok := ctx.Value(heldKey{}).(*Held)
	if !ok {
		return nil
	}
	h.endIfUnrenewed()
	if h.whileHeld.Err() != nil {
		return context.Cause(h.whileHeld)
	}
	return nil
}

// Asking returns a transport that asks Lasts before each request that may change something. A step reads
// before it writes. A laptop that sleeps in between goes on hours later, and then sends a request that was
// decided for another cluster. All writes to the API server and to the members go through this.
func Asking(next http.RoundTripper) http.RoundTripper { return asking{next} }

type asking struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (a asking) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		if err := Lasts(r.Context()); err != nil {
			if r.Body != nil {
				_ = r.Body.Close()
			}
			return nil, err
		}
	}
	return a.next.RoundTrip(r)
}

// CloseIdleConnections closes the idle connections of the transport below; http.Client looks for this method.
func (a asking) CloseIdleConnections() {
	if c, ok := a.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// WrappedRoundTripper returns the transport below; client-go looks for this method.
func (a asking) WrappedRoundTripper() http.RoundTripper { return a.next }
