package dial

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// certificate returns a self-signed certificate for a name; it is CA, server and client
// certificate.
func certificate(t *testing.T, name string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "pd"}, DNSNames: []string{name},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// The server's certificate names the pod by its in-cluster name, and it wants to see the client's: both work because
// the forwarded connection carries TLS from end to end.
func TestMutualTLS(t *testing.T) {
	cert, pool := certificate(t, "*.basic-pd-peer.ns.svc")
	a, p := newAPIServer(t)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.TLS.ServerName)
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	s.StartTLS()
	a.listen(2379, s)
	tr := Transport(p.DialContext, &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{cert}})
	defer tr.CloseIdleConnections()
	got, err := get(&http.Client{Transport: tr}, "https://"+pd0)
	if err != nil || got != "basic-pd-0.basic-pd-peer.ns.svc" {
		t.Errorf("server name %q, %v", got, err)
	}
}
