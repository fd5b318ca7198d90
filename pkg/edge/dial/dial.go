package dial

import (
	"context"
	"net"
)

// Dialer is a way to pods: Pods or Direct. Other packages cannot connect with a Dialer as it is, since it would
// connect to any pod. Of says which cluster's members may be connected to.
type Dialer interface {
	// connect connects to addr, which is <pod>.<peer service>.<namespace>[.svc[.<cluster domain>]]:<port>.
	connect(ctx context.Context, network, addr string) (net.Conn, error)
	// Close ends every connection the dialer holds.
	Close() error
}

var (
	_ Dialer = (*Direct)(nil)
	_ Dialer = (*Pods)(nil)
	_ Told   = (*Direct)(nil)
	_ Told   = (*Pods)(nil)
	_ Told   = (*Members)(nil)
)

func (d *Direct) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	return d.DialContext(ctx, network, addr)
}

func (p *Pods) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	return p.DialContext(ctx, network, addr)
}
