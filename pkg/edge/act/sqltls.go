package act

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// sqlTLS returns how an SQL client connects to a TiDB server, nil for without TLS. It trusts the
// authorities in the Secrets of TiDB and of its clients, those of the system where these Secrets have
// none, and shows the certificate of clients where there is one.
func (a *Actor) sqlTLS(ctx context.Context, host string) (*tls.Config, error) {
	if !a.cluster.TLS.SQL {
		return nil, nil
	}
	server, err := a.certificate(ctx, a.cluster.SQLServerSecret())
	if err != nil {
		return nil, err
	}
	client, err := a.certificate(ctx, a.cluster.SQLClientSecret(nil))
	if err != nil {
		return nil, err
	}
	var roots *x509.CertPool
	for _, text := range [][]byte{server[topology.KeyCA], client[topology.KeyCA]} {
		if len(text) == 0 {
			continue
		}
		if roots == nil {
			roots = x509.NewCertPool()
		}
		roots.AppendCertsFromPEM(text)
	}
	config := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection verifies, by any of several names
		VerifyConnection:   a.verifies(roots, host),
	}
	if len(client[topology.KeyCertificate]) > 0 {
		pair, err := tls.X509KeyPair(client[topology.KeyCertificate], client[topology.KeyPrivate])
		if err != nil {
			return nil, fmt.Errorf("use the certificate in secret %s: %w", a.cluster.SQLClientSecret(nil), err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// verifies returns a check of the certificate of a TiDB server: it must name the pod, or the Service
// by which SQL clients connect, since a user's certificate may name only that.
func (a *Actor) verifies(roots *x509.CertPool, host string) func(tls.ConnectionState) error {
	service := fmt.Sprintf("%s.%s.svc", a.cluster.SetName(topology.TiDB), a.cluster.Namespace)
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

// certificate returns the content of a Secret, empty where there is none.
func (a *Actor) certificate(ctx context.Context, name string) (map[string][]byte, error) {
	got, err := a.kube.CoreV1().Secrets(a.cluster.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, failed("get", "secret "+name, err)
	}
	return got.Data, nil
}
