package security

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io/ioutil"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/credentials"
)

// authority signs the certificates of a test.
type authority struct {
	t           *testing.T
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	serial      int64
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, certificate: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}}
	a.key = a.newKey()
	return a
}

func (a *authority) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return key
}

// write puts a certificate for a name into a folder, and returns the serial number that tells it from others.
func (a *authority) write(folder, name string) (Files, int64) {
	a.serial++
	key := a.newKey()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(100 + a.serial), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	own, err := x509.CreateCertificate(rand.Reader, a.certificate, a.certificate, &a.key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	f := Files{CA: filepath.Join(folder, "ca.crt"), Cert: filepath.Join(folder, "tls.crt"), Key: filepath.Join(folder, "tls.key")}
	for path, block := range map[string]*pem.Block{
		f.CA: {Type: "CERTIFICATE", Bytes: own}, f.Cert: {Type: "CERTIFICATE", Bytes: signed},
		f.Key: {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := ioutil.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return f, template.SerialNumber.Int64()
}

func configuration(t *testing.T, content string) string {
	path := filepath.Join(t.TempDir(), "tikv.toml")
	if err := ioutil.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead(t *testing.T) {
	want, _ := newAuthority(t).write(t.TempDir(), "TiDB")
	got, err := Read(configuration(t, "log-level = 'info'\nserver.labels = {a = 'b'}\n[security]\nca-path = '"+want.CA+
		"'\ncert-path = '"+want.Cert+"'\nkey-path = '"+want.Key+"'\ncert-allowed-cn = ['TiDB']\n"))
	if err != nil || got.CA != want.CA || got.Cert != want.Cert || got.Key != want.Key || len(got.AllowedNames) != 1 || !got.Enabled() {
		t.Errorf("%+v, %v", got, err)
	}
	for _, path := range []string{"", configuration(t, "[raftstore]\nx = 1\n"), configuration(t, "[security]\nca-path = ''\n")} {
		if got, err := Read(path); err != nil || got.Enabled() {
			t.Errorf("%+v, %v", got, err)
		}
	}
	for what, content := range map[string]string{
		"no key":            "[security]\nca-path = '" + want.CA + "'\ncert-path = '" + want.Cert + "'\n",
		"a missing file":    "[security]\nca-path = '/nonexistent'\ncert-path = '" + want.Cert + "'\nkey-path = '" + want.Key + "'\n",
		"not an authority":  "[security]\nca-path = '" + want.Key + "'\ncert-path = '" + want.Cert + "'\nkey-path = '" + want.Key + "'\n",
		"not configuration": "[security\n",
	} {
		if _, err := Read(configuration(t, content)); err == nil {
			t.Errorf("%s was accepted", what)
		}
	}
}

// use sets the files of the process for a test.
func use(t *testing.T, f Files) {
	Use(f)
	t.Cleanup(func() { Use(Files{}) })
}

// serveHTTP serves the status as the store does.
func serveHTTP(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go server.Serve(Listen(listener))
	t.Cleanup(func() { server.Close() })
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return "://localhost:" + port
}

func get(t *testing.T, url string) (*http.Response, error) {
	transport, err := HTTP()
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: transport, Timeout: 5 * time.Second}).Get(url)
	if err == nil {
		response.Body.Close()
	}
	return response, err
}

func TestARenewedCertificateIsUsedByNewConnections(t *testing.T) {
	folder, a := t.TempDir(), newAuthority(t)
	f, first := a.write(folder, "TiDB")
	use(t, f)
	url := Scheme() + serveHTTP(t)
	for _, want := range []int64{first, 0} {
		if want == 0 {
			_, want = a.write(folder, "TiDB")
		}
		response, err := get(t, url)
		if err != nil {
			t.Fatal(err)
		}
		if got := response.TLS.PeerCertificates[0].SerialNumber.Int64(); got != want {
			t.Errorf("certificate %d is served, want %d", got, want)
		}
	}
}

func TestClientsNeedACertificate(t *testing.T) {
	a := newAuthority(t)
	f, _ := a.write(t.TempDir(), "TiDB")
	other, _ := a.write(t.TempDir(), "somebody")
	stranger, _ := newAuthority(t).write(t.TempDir(), "TiDB")
	f.AllowedNames = []string{"PD", "TiDB"}
	use(t, f)
	url := "https" + serveHTTP(t)

	if _, err := get(t, url); err != nil {
		t.Errorf("a client with the right certificate: %v", err)
	}
	stranger.CA = f.CA
	for what, client := range map[string]Files{"another common name": other, "a foreign authority": stranger} {
		Use(client)
		if _, err := get(t, url); err == nil {
			t.Errorf("a client with %s is served", what)
		}
	}
	plain := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	if response, err := plain.Get(url); err == nil {
		response.Body.Close()
		t.Error("a client without a certificate is served")
	}
	if response, err := plain.Get("http" + strings.TrimPrefix(url, "https")); err == nil {
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			t.Error("a client without TLS is served")
		}
	}
}

func TestWithoutFilesNothingIsEncrypted(t *testing.T) {
	use(t, Files{})
	if Scheme() != "http" || Serve() != nil {
		t.Error("TLS without files")
	}
	if response, err := get(t, "http"+serveHTTP(t)); err != nil || response.StatusCode != http.StatusOK {
		t.Error(err)
	}
}

// gRPC clones credentials when a connection is made again.
func TestHandshakesOfGRPCReadTheFilesAgain(t *testing.T) {
	folder, a := t.TempDir(), newAuthority(t)
	f, first := a.write(folder, "TiDB")
	creds := reloading{credentials.NewTLS(&tls.Config{}), f}.Clone()
	if got := handshake(t, creds); got != first {
		t.Errorf("certificate %d, want %d", got, first)
	}
	_, second := a.write(folder, "TiDB")
	if got := handshake(t, creds.Clone()); got != second {
		t.Errorf("certificate %d after it was renewed, want %d", got, second)
	}
	if err := os.Remove(f.Cert); err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	if _, _, err := creds.ServerHandshake(near); err == nil {
		t.Error("a handshake without a certificate")
	}
}

// handshake returns the serial number of the certificate that the server sees.
func handshake(t *testing.T, creds credentials.TransportCredentials) int64 {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			return
		}
		defer conn.Close()
		_, _, _ = creds.ClientHandshake(t.Context(), "localhost:1", conn)
	}()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, info, err := creds.ServerHandshake(conn)
	if err != nil {
		t.Fatal(err)
	}
	return info.(credentials.TLSInfo).State.PeerCertificates[0].SerialNumber.Int64()
}
