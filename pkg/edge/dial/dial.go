package dial

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// Dialer opens connections to pods by their in-cluster names. Pods and Direct implement it.
type Dialer interface {
	// DialContext connects to addr, which is <pod>.<peer service>.<namespace>[.svc[.<cluster domain>]]:<port>.
	DialContext(ctx context.Context, network, addr string) (net.Conn, error)
	// Close ends every connection the dialer holds.
	Close() error
}

var (
	_ Dialer = (*Direct)(nil)
	_ Dialer = (*Pods)(nil)
	_ Told   = (*Direct)(nil)
	_ Told   = (*Pods)(nil)
)

// Idle is how long an unused connection is kept: long enough for several polls while a cluster waits, but not until the
// next turn of a converged cluster. A thousand converged clusters would keep five thousand connections.
const Idle = 20 * time.Second

// idleAtMost is how many unused connections are kept. A cluster may have hundreds of members, and through the API
// server each connection takes nearly a megabyte.
const idleAtMost = 16

// Transport returns an HTTP transport over d; tlsConf may be nil. It never uses the environment's proxy, which is for
// the way to the API server and cannot know in-cluster names.
func Transport(d Dialer, tlsConf *tls.Config) *http.Transport {
	return &http.Transport{
		DialContext:         Lazy(d.DialContext),
		TLSClientConfig:     tlsConf.Clone(),
		Proxy:               nil,
		MaxIdleConns:        idleAtMost,
		MaxIdleConnsPerHost: 4,
		IdleConnTimeout:     Idle,
		TLSHandshakeTimeout: 10 * time.Second,
	}
}
