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
)

// Idle is how long a connection is kept that nobody uses: for some polls of what is awaited, but not from one look at a
// cluster that is as wanted to the next. A thousand of those would keep five thousand connections.
const Idle = 20 * time.Second

// Transport returns an HTTP transport over d; tlsConf may be nil. It never uses the environment's proxy, which is for
// the way to the API server and cannot know in-cluster names.
func Transport(d Dialer, tlsConf *tls.Config) *http.Transport {
	return &http.Transport{
		DialContext:         Lazy(d.DialContext),
		TLSClientConfig:     tlsConf.Clone(),
		Proxy:               nil,
		MaxIdleConnsPerHost: 4,
		IdleConnTimeout:     Idle,
		TLSHandshakeTimeout: 10 * time.Second,
	}
}
