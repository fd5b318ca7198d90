package security

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
)

// process is what this process uses. Libraries of the store that connect to other servers are corrected to ask here.
var process Files

// Use sets the files for all connections that are made from now on.
func Use(f Files) { process = f }

// Dial is how a connection to another server is made.
func Dial() grpc.DialOption {
	if !process.Enabled() {
		return grpc.WithInsecure()
	}
	return grpc.WithTransportCredentials(reloading{credentials.NewTLS(&tls.Config{}), process})
}

// Alive ends a connection on which nothing comes back for a while, as TiKV does. The network does not say that a host is
// gone, so that the connection would wait for a quarter of an hour.
func Alive() grpc.DialOption {
	return grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 3 * time.Second})
}

// DialWithin limits how long one attempt to connect may take.
func DialWithin(limit time.Duration) grpc.DialOption {
	dialer := net.Dialer{Timeout: limit}
	return grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		return dialer.DialContext(ctx, "tcp", address)
	})
}

// Serve is how connections of other servers are accepted.
func Serve() []grpc.ServerOption {
	if !process.Enabled() {
		return nil
	}
	return []grpc.ServerOption{grpc.Creds(reloading{credentials.NewTLS(&tls.Config{}), process})}
}

// Scheme is that of the servers' URLs.
func Scheme() string {
	if process.Enabled() {
		return "https"
	}
	return "http"
}

// HTTP is a transport for one request: a transport that is kept would keep the certificate.
func HTTP() (*http.Transport, error) {
	transport := &http.Transport{DisableKeepAlives: true}
	if !process.Enabled() {
		return transport, nil
	}
	var err error
	transport.TLSClientConfig, err = process.client()
	return transport, err
}

// Listen encrypts what is accepted.
func Listen(listener net.Listener) net.Listener {
	if !process.Enabled() {
		return listener
	}
	files := process
	return tls.NewListener(listener, &tls.Config{
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return files.server() },
	})
}

// reloading reads the files again for each handshake. It embeds what describes TLS to gRPC.
type reloading struct {
	credentials.TransportCredentials
	files Files
}

// ClientHandshake implements credentials.TransportCredentials.
func (r reloading) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	config, err := r.files.client()
	if err != nil {
		return nil, nil, err
	}
	return credentials.NewTLS(config).ClientHandshake(ctx, authority, conn)
}

// ServerHandshake implements credentials.TransportCredentials.
func (r reloading) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	config, err := r.files.server()
	if err != nil {
		return nil, nil, err
	}
	return credentials.NewTLS(config).ServerHandshake(conn)
}

// Clone implements credentials.TransportCredentials; without it gRPC would go on with a copy that never reads again.
func (r reloading) Clone() credentials.TransportCredentials { return r }
