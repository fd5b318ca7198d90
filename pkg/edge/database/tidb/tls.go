package tidb

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Credentials are what an SQL client trusts, and what it shows.
type Credentials struct {
	// CA has the authorities in the Secrets of TiDB and of its clients, in PEM; empty for those of
	// the system.
	CA []byte
	// Certificate and Private are of a client, empty for a client without a certificate.
	Certificate, Private []byte

	secret  string // of the client
	service string // the name by which SQL clients connect
}

// ReadCredentials reads the credentials of a cluster, nil for a cluster whose SQL clients have no TLS.
func ReadCredentials(ctx context.Context, kube kubernetes.Interface, c topology.Cluster) (*Credentials, error) {
	if !c.TLS.SQL {
		return nil, nil
	}
	own := &Credentials{secret: c.SQLClientSecret(nil), service: fmt.Sprintf("%s.%s.svc", c.SetName(topology.TiDB), c.Namespace)}
	for _, name := range []string{c.SQLServerSecret(), own.secret} {
		got, err := kube.CoreV1().Secrets(c.Namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("get secret %s: %w", name, err)
		}
		if ca := got.Data[topology.KeyCA]; len(ca) > 0 {
			own.CA = append(append(own.CA, ca...), '\n')
		}
		if name == own.secret {
			own.Certificate, own.Private = got.Data[topology.KeyCertificate], got.Data[topology.KeyPrivate]
		}
	}
	return own, nil
}

// Config returns how a client connects to a server, nil for without TLS.
func (c *Credentials) Config(host string) (*tls.Config, error) {
	if c == nil {
		return nil, nil
	}
	var roots *x509.CertPool
	if len(c.CA) > 0 {
		roots = x509.NewCertPool()
		roots.AppendCertsFromPEM(c.CA)
	}
	config := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection verifies, by any of several names
		VerifyConnection:   verifies(roots, c.service, host),
	}
	if len(c.Certificate) > 0 {
		pair, err := tls.X509KeyPair(c.Certificate, c.Private)
		if err != nil {
			return nil, fmt.Errorf("use the certificate in secret %s: %w", c.secret, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// verifies returns a check of the certificate of a TiDB server. The certificate must name the pod, or the Service by
// which SQL clients connect, since a user's certificate may name only that.
func verifies(roots *x509.CertPool, service, host string) func(tls.ConnectionState) error {
	return func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 {
			return errors.New("the server shows no certificate")
		}
		between := x509.NewCertPool()
		for _, c := range s.PeerCertificates[1:] {
			between.AddCert(c)
		}
		leaf := s.PeerCertificates[0]
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between}); err != nil {
			return err
		}
		if leaf.VerifyHostname(service) == nil {
			return nil
		}
		return leaf.VerifyHostname(host)
	}
}
