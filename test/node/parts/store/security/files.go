// Package security gives the store's connections TLS, with the files that TiKV's configuration names. Files are read
// for each handshake, so that new connections use a certificate that was renewed, as those of TiKV do.
package security

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/ioutil"

	"github.com/BurntSushi/toml"
)

// Files are where a store finds its identity, and whom it trusts. Without them nothing is encrypted.
type Files struct {
	CA   string `toml:"ca-path"`
	Cert string `toml:"cert-path"`
	Key  string `toml:"key-path"`
	// AllowedNames are the common names that clients may have; any without.
	AllowedNames []string `toml:"cert-allowed-cn"`
}

// Read takes the files from a configuration of TiKV.
func Read(path string) (Files, error) {
	var config struct{ Security Files }
	if path == "" {
		return Files{}, nil
	}
	if _, err := toml.DecodeFile(path, &config); err != nil {
		return Files{}, fmt.Errorf("read the configuration: %w", err)
	}
	f := config.Security
	if !f.Enabled() {
		return f, nil
	}
	if f.CA == "" || f.Cert == "" || f.Key == "" {
		return f, errors.New("ca-path, cert-path and key-path must be set together")
	}
	_, _, err := f.load()
	return f, err
}

// Enabled reports whether connections are encrypted.
func (f Files) Enabled() bool { return f.CA != "" || f.Cert != "" || f.Key != "" }

func (f Files) load() (tls.Certificate, *x509.CertPool, error) {
	own, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return own, nil, fmt.Errorf("load the certificate: %w", err)
	}
	content, err := ioutil.ReadFile(f.CA)
	if err != nil {
		return own, nil, fmt.Errorf("load the authority: %w", err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(content) {
		return own, nil, fmt.Errorf("there is no certificate in %s", f.CA)
	}
	return own, trusted, nil
}

// client is what one connection to another server is made with.
func (f Files) client() (*tls.Config, error) {
	own, trusted, err := f.load()
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{own}, RootCAs: trusted}, nil
}

// server is what one connection is accepted with: clients must have a certificate, too.
func (f Files) server() (*tls.Config, error) {
	own, trusted, err := f.load()
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		Certificates: []tls.Certificate{own}, ClientCAs: trusted, ClientAuth: tls.RequireAndVerifyClientCert,
		VerifyConnection: f.verifyName,
	}, nil
}

func (f Files) verifyName(state tls.ConnectionState) error {
	name := state.PeerCertificates[0].Subject.CommonName
	for _, allowed := range f.AllowedNames {
		if name == allowed {
			return nil
		}
	}
	if len(f.AllowedNames) == 0 {
		return nil
	}
	return fmt.Errorf("common name %q is not in cert-allowed-cn", name)
}
