// Package pki issues the certificates by which the node's programs know each other.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Identity is whom a certificate is for.
type Identity struct {
	// File is the base name of the certificate and key files.
	File string
	// User and Groups are how the API server knows a client.
	User   string
	Groups []string
	Hosts  []string
	IPs    []string
}

// Authority is the node's certificate authority.
type Authority struct {
	folder      string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// A node is for tests; it does not live long.
const validity = 10 * 365 * 24 * time.Hour

// Certificate and Key name the files of an identity in a folder.
func Certificate(folder, name string) string { return filepath.Join(folder, name+".crt") }

// Key names the key file of an identity.
func Key(folder, name string) string { return filepath.Join(folder, name+".key") }

// AuthorityName is the file name of the authority.
const AuthorityName = "ca"

// NewAuthority creates the authority in a folder.
func NewAuthority(folder string) (*Authority, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("create the certificate folder: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create the certificate authority: %w", err)
	}
	template := newTemplate(Identity{User: "kubectl-tidb-node-ca"})
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage |= x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("create the certificate authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("create the certificate authority: %w", err)
	}
	return &Authority{folder, certificate, key}, write(folder, AuthorityName, der, key)
}

// OpenAuthority takes the authority that a folder has.
func OpenAuthority(folder string) (*Authority, error) {
	pair, err := tls.LoadX509KeyPair(Certificate(folder, AuthorityName), Key(folder, AuthorityName))
	if err != nil {
		return nil, fmt.Errorf("open the certificate authority: %w", err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("open the certificate authority: its key is a %T", pair.PrivateKey)
	}
	return &Authority{folder, pair.Leaf, key}, nil
}

// Issue writes a certificate and its key.
func (a *Authority) Issue(identity Identity) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("create the key of %s: %w", identity.File, err)
	}
	der, err := x509.CreateCertificate(rand.Reader, newTemplate(identity), a.certificate, key.Public(), a.key)
	if err != nil {
		return fmt.Errorf("create the certificate of %s: %w", identity.File, err)
	}
	return write(a.folder, identity.File, der, key)
}

func newTemplate(identity Identity) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err) // crypto/rand never fails on Linux
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: identity.User, Organization: identity.Groups},
		// A little earlier: the clocks of a restored virtual machine can step back.
		NotBefore:   now.Add(-time.Hour),
		NotAfter:    now.Add(validity),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    identity.Hosts,
	}
	for _, address := range identity.IPs {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(address))
	}
	return template
}

func write(folder, name string, der []byte, key *ecdsa.PrivateKey) error {
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode the key of %s: %w", name, err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	private := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
	if err := os.WriteFile(Certificate(folder, name), public, 0o600); err != nil {
		return fmt.Errorf("write the certificate of %s: %w", name, err)
	}
	if err := os.WriteFile(Key(folder, name), private, 0o600); err != nil {
		return fmt.Errorf("write the key of %s: %w", name, err)
	}
	return nil
}
