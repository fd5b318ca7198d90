//go:build linux

package loopback

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/pki"
)

// certificates are the files with which members and clients use TLS; without a folder they do not.
type certificates struct{ folder string }

const member = "member"

func newCertificates(t *testing.T) certificates {
	t.Helper()
	c := certificates{t.TempDir()}
	authority, err := pki.NewAuthority(c.folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := authority.Issue(pki.Identity{File: member, User: member, IPs: []string{"127.0.0.1"}}); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c certificates) scheme() string {
	if c.folder == "" {
		return "http"
	}
	return "https"
}

// flags name the files on a command line on which the flag of the authority has the given name.
func (c certificates) flags(authority string) []string {
	if c.folder == "" {
		return nil
	}
	return []string{
		"--" + authority + "=" + pki.Certificate(c.folder, pki.AuthorityName),
		"--cert=" + pki.Certificate(c.folder, member), "--key=" + pki.Key(c.folder, member),
	}
}

// section names the files in a configuration, under the keys that a component has for them.
func (c certificates) section(authority, certificate, key string) string {
	if c.folder == "" {
		return ""
	}
	return fmt.Sprintf("[security]\n%s = %q\n%s = %q\n%s = %q\n", authority, pki.Certificate(c.folder, pki.AuthorityName),
		certificate, pki.Certificate(c.folder, member), key, pki.Key(c.folder, member))
}

// client is one of PD.
func (c certificates) client() (*http.Client, error) {
	if c.folder == "" {
		return http.DefaultClient, nil
	}
	own, err := tls.LoadX509KeyPair(pki.Certificate(c.folder, member), pki.Key(c.folder, member))
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(pki.Certificate(c.folder, pki.AuthorityName))
	if err != nil {
		return nil, err
	}
	known := x509.NewCertPool()
	known.AppendCertsFromPEM(authority)
	config := &tls.Config{Certificates: []tls.Certificate{own}, RootCAs: known, MinVersion: tls.VersionTLS12}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}, nil
}
