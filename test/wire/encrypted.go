package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// encrypt has members speak TLS. It comes before the cluster is created.
func (w *World) encrypt() {
	w.encrypted = true
	w.members.SpeakTLS()
}

// certified returns how a member speaks TLS. As real members do, it reads its certificate from the Secret again for each
// connection, and it wants a certificate of the client by an authority in that Secret. A member without TLS has none.
func (w *World) certified(m member) *tls.Config {
	if !w.encrypted {
		return nil
	}
	secret, ok := w.api.Get(schema.GroupResource{Resource: "secrets"}, w.cluster.Namespace, w.cluster.MemberSecret(m.kind)).(*corev1.Secret)
	if !ok {
		return refusesAll("there is no certificate")
	}
	own, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return refusesAll(err.Error())
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(secret.Data[topology.KeyCA])
	if slices.Contains(w.distrusting, m) {
		authorities = x509.NewCertPool()
	}
	verify := tls.RequireAndVerifyClientCert
	if m.kind == topology.TiProxy { // its HTTP server lets everybody in
		verify = tls.NoClientCert
	}
	return &tls.Config{
		Certificates: []tls.Certificate{own}, ClientCAs: authorities, ClientAuth: verify,
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
	}
}

// refusesAll returns how a member speaks TLS that has no usable certificate.
func refusesAll(why string) *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, errors.New(why) },
	}
}
