package dial

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
)

// Connect opens a connection, as Members.DialContext does.
type Connect = func(ctx context.Context, network, addr string) (net.Conn, error)

// Idle is how long an unused connection is kept. That is long enough for several polls while a cluster waits, but
// ends before the next turn of a converged cluster. A thousand converged clusters would keep five thousand
// connections.
const Idle = 20 * time.Second

// idleAtMost is how many unused connections are kept. A cluster may have hundreds of members, and through the API
// server each connection takes nearly a megabyte.
const idleAtMost = 16

// idleOfMember is how many of them are kept to one member. An observation asks PD's leader for so many things at a
// time. Each connection beyond would be closed after it, and opened again for the next one.
const idleOfMember = 8

// maxHeader bounds the header of an answer. Those of members have a few hundred bytes.
const maxHeader = 64 << 10

// Client returns what asks members over HTTP; with may be nil, and a timeout of 0 is none. All requests to members are
// sent by such a client.
//
// It follows no redirect, because no member answers with one. A redirect would have the request sent again, with its
// body, to an address and a path that the member chooses. The answer with the redirect is returned as any other.
// Before a request that may change something it asks whether the lease lasts.
func Client(connect Connect, with *tls.Config, timeout time.Duration) *http.Client {
	return &http.Client{
		Transport:     lease.Asking(limited{Transport(connect, with), timeout}),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Transport returns the HTTP transport of a Client. It never uses the environment's proxy, which is for the way to the
// API server and cannot know in-cluster names. It asks for no compression: two kilobytes can unpack to gigabytes.
func Transport(connect Connect, with *tls.Config) *http.Transport {
	return &http.Transport{
		DialContext:            Lazy(connect),
		TLSClientConfig:        with.Clone(),
		Proxy:                  nil,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns:           idleAtMost,
		MaxIdleConnsPerHost:    idleOfMember,
		IdleConnTimeout:        Idle,
		TLSHandshakeTimeout:    10 * time.Second,
	}
}
