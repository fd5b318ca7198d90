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

// Transport returns an HTTP transport over d; tlsConf may be nil. It never uses the environment's proxy, which is for
// the way to the API server and cannot know in-cluster names.
func Transport(d Dialer, tlsConf *tls.Config) *http.Transport {
	return &http.Transport{
		DialContext:         Lazy(d.DialContext),
		TLSClientConfig:     tlsConf.Clone(),
		Proxy:               nil,
		MaxIdleConnsPerHost: 4,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
	}
}
